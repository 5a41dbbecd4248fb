// SPDX-License-Identifier: Apache-2.0
#include "backends/tensorrt/installation.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <sstream>

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "byoc/library_search.h"
#include "relay/patterns/refuse.h"
#include "support/files.h"

namespace tessera::backends::tensorrt {
namespace {

namespace fs = std::filesystem;
using relay::Refusal;
using relay::refuse;
using Version = std::vector<std::int64_t>;

constexpr const char* kHowToGet =
    "unpack TensorRT 8.6 to 11 and name its folder, which has include/NvInfer.h, in TENSORRT_ROOT";

const Version kFirst = {8, 6}, kAfterLast = {12};

// `#define NAME VALUE`, of which the value may be another name.
class Definitions {
 public:
  explicit Definitions(const std::string& header) {
    std::istringstream lines(header);
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words(line);
      std::string define, name, value;
      if (words >> define >> name >> value && define == "#define") values_[name] = value;
    }
  }
  // -1: there is none.
  std::int64_t number(const std::string& name) const {
    auto found = values_.find(name);
    if (found != values_.end() && values_.contains(found->second)) {
      found = values_.find(found->second);
    }
    if (found == values_.end() || !std::isdigit(static_cast<unsigned char>(found->second[0]))) {
      return -1;
    }
    return std::atoll(found->second.c_str());
  }

 private:
  std::map<std::string, std::string> values_;
};

Version version_of_headers(const std::string& folder) {
  const auto header = read_file(folder + "/NvInferVersion.h");
  if (!header) return {};
  const Definitions definitions(*header);
  Version version;
  for (const char* part : {"MAJOR", "MINOR", "PATCH"}) {
    version.push_back(definitions.number(fmt::format("NV_TENSORRT_{}", part)));
  }
  return version;
}

// Of getInferLibVersion(): 8601 is 8.6.1, and from 10 on 100300 is 10.3.0.
Version version_of_number(std::int64_t number) {
  const std::int64_t minors = number < 10000 ? 10 : 100;
  return {number / 100 / minors, number / 100 % minors, number % 100};
}

std::string joined(const Version& version) { return fmt::format("{}", fmt::join(version, ".")); }

std::string first_with(const std::vector<std::string>& folders, const std::string& file) {
  for (const std::string& folder : folders) {
    if (std::error_code ignored; fs::exists(fs::path(folder) / file, ignored)) return folder;
  }
  return "";
}

// Where PyPI's `tensorrt` puts its libraries: in the environment that is active, or in that of the
// build.
std::vector<std::string> python_folders() {
  std::vector<std::string> folders;
  const char* active = std::getenv("VIRTUAL_ENV");
  for (const std::string& root :
       {std::string(active == nullptr ? "" : active), std::string(TESSERA_PYTHON_ENVIRONMENT)}) {
    std::error_code ignored;
    if (root.empty()) continue;
    for (const auto& entry : fs::directory_iterator(root + "/lib", ignored)) {
      folders.push_back(entry.path().string() + "/site-packages/tensorrt_libs");
    }
  }
  std::sort(folders.begin(), folders.end());
  return folders;
}

std::string find_library(const std::string& root, const std::string& file) {
  std::vector<std::string> folders = python_folders();
  folders.insert(folders.begin(), {root + "/lib", root + "/lib64", root + "/lib/x86_64-linux-gnu"});
  const std::string folder = first_with(folders, file);
  return byoc::find_library(file, folder.empty() ? "" : folder + "/" + file);
}

// The headers' classes are those of their own library alone.
std::optional<Refusal> library_refusal(const Installation& found, const std::string& headers) {
  void* handle = dlopen(found.library_path.c_str(), RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE);
  using Ask = std::int32_t (*)();
  const auto ask =
      handle == nullptr ? nullptr : reinterpret_cast<Ask>(dlsym(handle, "getInferLibVersion"));
  if (ask == nullptr) return Refusal{fmt::format("{} is no TensorRT", found.library_path)};
  const Version version = version_of_number(ask());
  if (version == found.version) return std::nullopt;
  return Refusal{fmt::format("{} is TensorRT {}, and the headers in {} are those of {}",
                             found.library_path, joined(version), headers, joined(found.version))};
}

std::vector<std::string> cuda_folders() {
  const char* home = std::getenv("CUDA_HOME");
  const std::string root = home != nullptr && *home != '\0' ? home : "/usr/local/cuda";
  return {root + "/include"};
}

}  // namespace

std::string Installation::version_text() const { return joined(version); }

Expected<Installation, Refusal> find_installation(const std::string& root) {
  if (root.empty()) return refuse("{}", kHowToGet);
  const std::string headers =
      first_with({root + "/include", root + "/include/x86_64-linux-gnu"}, "NvInfer.h");
  if (headers.empty()) return refuse("{}/include has no NvInfer.h: {}", root, kHowToGet);
  Installation found;
  found.version = version_of_headers(headers);
  if (found.version < kFirst || found.version >= kAfterLast) {
    return refuse("the headers in {} are those of TensorRT {}: {}", headers, joined(found.version),
                  kHowToGet);
  }
  found.include_folders = cuda_folders();
  found.include_folders.insert(found.include_folders.begin(), headers);
  found.library_file = fmt::format("libnvinfer.so.{}", found.version.front());
  found.library_path = find_library(root, found.library_file);
  if (found.library_path.empty()) {
    return refuse(
        "the headers in {} are those of TensorRT {}, but {} was not found in {}/lib, in "
        "TESSERA_LIBRARY_PATH or where the system looks, or does not load",
        headers, found.version_text(), found.library_file, root);
  }
  if (auto why = library_refusal(found, headers)) return Unexpected{*why};
  return found;
}

const Expected<Installation, Refusal>& installation() {
  static const auto found = [] {
    const char* root = std::getenv("TENSORRT_ROOT");
    return find_installation(root == nullptr ? "" : root);
  }();
  return found;
}

}  // namespace tessera::backends::tensorrt
