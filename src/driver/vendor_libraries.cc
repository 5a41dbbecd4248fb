// SPDX-License-Identifier: Apache-2.0
#include "driver/vendor_libraries.h"

#include <algorithm>
#include <filesystem>
#include <span>

#include <zlib.h>

#include "backends/table.h"
#include "runtime/blake2b.h"
#include "support/files.h"

namespace tessera::driver {
namespace {

namespace fs = std::filesystem;

// Where the artifact's back end has the library of that name; "" if it has not.
std::string find_vendor_library(const Artifact& artifact, const std::string& name) {
  const byoc::Backend* backend = backends::find_backend(artifact.backend);
  return backend == nullptr ? "" : backend->library_path(name);
}

Result<std::string> find_to_bundle(const Artifact& artifact, const std::string& name) {
  const byoc::Backend* backend = backends::find_backend(artifact.backend);
  if (const auto why = backend == nullptr ? std::nullopt : backend->refuses_to_bundle()) {
    return fail(error(Code::kBackendMissing, {}, "--bundle: {} of {}: {}", name, artifact.backend,
                      why->reason)
                    .with_remedy("compile without --bundle"));
  }
  std::string found = find_vendor_library(artifact, name);
  if (!found.empty()) return found;
  return fail(
      error(Code::kBackendMissing, {}, "--bundle: `{}` of {} was not found", name, artifact.backend)
          .with_remedy("name its folder in TESSERA_LIBRARY_PATH"));
}

Result<MappedFile> open_to_bundle(const std::string& path) {
  auto source = MappedFile::open(path);
  if (source) return *std::move(source);
  return fail(error(Code::kFileNotFound, {}, "--bundle: cannot read {}", source.error().text())
                  .with_remedy("check the file's permissions, or install the library again"));
}

Result<void> copy_library(const std::string& from, const fs::path& to) {
  std::error_code not_there;
  if (fs::equivalent(from, to, not_there)) return {};
  TESSERA_TRY(const MappedFile source, open_to_bundle(from));
  const auto written = write_atomically(to.string(), [&](FileWriter& out) -> FileResult<void> {
    out.write(source.bytes());
    return {};
  });
  if (written) return {};
  return fail(error(Code::kFileNotWritable, {}, "--bundle: cannot write {}", written.error().text())
                  .with_remedy("make room or choose another folder for the output; without "
                               "--bundle nothing is copied"));
}

// Null: it would hardly be smaller.
std::shared_ptr<const Blob> packed(std::span<const std::byte> bytes) {
  constexpr int kLevel = 6;
  uLongf size = compressBound(bytes.size());
  std::vector<std::byte> out(size);
  const auto* from = reinterpret_cast<const Bytef*>(bytes.data());
  if (compress2(reinterpret_cast<Bytef*>(out.data()), &size, from, bytes.size(), kLevel) != Z_OK ||
      size > bytes.size() / 4 * 3) {
    return nullptr;
  }
  out.resize(size);
  return Blob::adopt(std::move(out));
}

}  // namespace

Result<std::map<std::string, emit::BundledFile>> bundled_files(const Module& module) {
  std::map<std::string, emit::BundledFile> files;
  for (const Artifact& artifact : module.artifacts) {
    for (const std::string& name : artifact.vendor_libraries) {
      if (files.contains(name)) continue;
      TESSERA_TRY(const std::string found, find_to_bundle(artifact, name));
      TESSERA_TRY(const MappedFile file, open_to_bundle(found));
      files[name].hash = runtime::Blake2b(file.bytes().data(), file.bytes().size()).text;
    }
  }
  return files;
}

Result<std::vector<link::WeightPiece>> put_inside(const Module& module, std::uint64_t weight_bytes,
                                                  std::map<std::string, emit::BundledFile>& files) {
  std::vector<link::WeightPiece> pieces;
  std::uint64_t end = weight_bytes;
  for (const Artifact& artifact : module.artifacts) {
    const byoc::Backend* backend = backends::find_backend(artifact.backend);
    if (backend != nullptr && !backend->loads_from_memory()) {
      return fail(error(Code::kBadOption, {},
                        "--bundle=inside: the libraries of {} look for files beside themselves, "
                        "and cannot be opened from within another",
                        artifact.backend)
                      .with_remedy("give --bundle, which puts them beside the model's library"));
    }
    for (const std::string& name : artifact.vendor_libraries) {
      emit::BundledFile& file = files.at(name);
      if (file.bytes > 0) continue;
      TESSERA_TRY(const std::string found, find_to_bundle(artifact, name));
      TESSERA_TRY(auto blob, Blob::map_file(found));
      file.bytes = blob->bytes().size();
      if (auto small = packed(blob->bytes())) {
        blob = std::move(small);
        file.packed_bytes = blob->bytes().size();
      }
      file.offset = (end + link::kWeightsAlignBytes - 1) / link::kWeightsAlignBytes *
                    link::kWeightsAlignBytes;
      end = file.offset + blob->bytes().size();
      pieces.push_back({file.offset, std::move(blob)});
    }
  }
  return pieces;
}

Result<void> bundle_libraries(const Module& module, const std::string& output) {
  for (const Artifact& artifact : module.artifacts) {
    for (const std::string& name : artifact.vendor_libraries) {
      TESSERA_TRY(const std::string found, find_to_bundle(artifact, name));
      TESSERA_TRY_VOID(copy_library(found, fs::path(output).parent_path() / name));
    }
  }
  return {};
}

std::vector<std::string> vendor_library_folders(const Module& module) {
  std::vector<std::string> folders;
  for (const Artifact& artifact : module.artifacts) {
    for (const std::string& name : artifact.vendor_libraries) {
      const std::string found = find_vendor_library(artifact, name);
      if (found.empty()) continue;
      std::string folder = fs::absolute(found).parent_path().string();
      if (std::find(folders.begin(), folders.end(), folder) == folders.end()) {
        folders.push_back(std::move(folder));
      }
    }
  }
  return folders;
}

}  // namespace tessera::driver
