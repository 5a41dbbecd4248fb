// SPDX-License-Identifier: Apache-2.0
#include "whole_model.h"

#include <cmath>
#include <filesystem>
#include <stdexcept>

#include <fmt/format.h>
#include <unistd.h>

#include "command.h"
#include "constants/npy.h"
#include "diagnostics/diagnostic.h"
#include "support/files.h"
#include "support/hash.h"

namespace tessera::e2e {
namespace {

namespace fs = std::filesystem;

const std::string kBench = TESSERA_SOURCE_DIR "/bench";

// What the data depend on: they are made again when that changes.
std::string version_of(const std::string& skeleton) {
  std::string text;
  for (const std::string& path :
       {skeleton, kBench + "/tools/hydrate.py", kBench + "/tools/reference.py"}) {
    const auto content = read_file(path);
    if (!content) throw std::runtime_error(content.error().text());
    text += hash_text(*content).hex();
  }
  return hash_text(text).hex().substr(0, 12);
}

Tensor load(const std::string& path) {
  auto tensor = read_npy(path);
  if (!tensor) throw std::runtime_error(render(tensor.error()));
  return *std::move(tensor);
}

double difference(const Tensor& found, const Tensor& wanted) {
  if (found.shape != wanted.shape || found.dtype != wanted.dtype) {
    throw std::runtime_error(
        fmt::format("{} instead of {}", to_string(found.type()), to_string(wanted.type())));
  }
  double most = 0, magnitude = 1e-30;
  for (std::int64_t i = 0; i < wanted.num_elements(); ++i) {
    const double a = element_as_double(found, i), b = element_as_double(wanted, i);
    if (std::isnan(a) != std::isnan(b)) return INFINITY;
    if (std::isnan(a)) continue;
    most = std::max(most, std::abs(a - b));
    magnitude = std::max(magnitude, std::abs(b));
  }
  return most / magnitude;
}

}  // namespace

WholeModel whole_model(const std::string& name, const std::vector<std::string>& dims) {
  const std::string skeleton = kBench + "/models/" + name + ".skeleton.onnx";
  const fs::path root = TESSERA_BUILD_DIR "/testdata/models";
  const fs::path folder = root / (name + "-" + version_of(skeleton));
  if (!fs::exists(folder)) {
    // Made under another name first: several tests may run at once, and any may be killed.
    const fs::path draft = root / fmt::format("{}.{}", name, ::getpid());
    fs::create_directories(draft);
    std::vector<std::string> hydrate = {kBench + "/tools/hydrate.py", skeleton,
                                        draft / "model.onnx"};
    for (const std::string& dim : dims) hydrate.push_back("--dim=" + dim);
    run_python(hydrate);
    run_python({kBench + "/tools/reference.py", draft / "model.onnx", draft});
    std::error_code exists_already;
    fs::rename(draft, folder, exists_already);
    fs::remove_all(draft);
  }
  return {folder / "model.onnx", folder / "inputs", folder / "outputs"};
}

double largest_difference(const std::string& found, const std::string& wanted) {
  if (names_in(found) != names_in(wanted)) {
    throw std::runtime_error(fmt::format("tensors {}; wanted {}", fmt::join(names_in(found), ", "),
                                         fmt::join(names_in(wanted), ", ")));
  }
  double most = 0;
  for (const std::string& name : names_in(wanted)) {
    most = std::max(most, difference(load(found + "/" + name), load(wanted + "/" + name)));
  }
  return most;
}

}  // namespace tessera::e2e
