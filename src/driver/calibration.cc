// SPDX-License-Identifier: Apache-2.0
#include "driver/calibration.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>

#include <fmt/format.h>

#include "constants/npy.h"
#include "driver/compilation.h"

namespace tessera::driver {
namespace {

using Arrays = std::map<std::string, Tensor>;

constexpr const char* kRemedy =
    "give a folder with an .npz for each run, which has an array for each input by its name, or "
    "with NAME.npy for each input";

Unexpected<Diagnostics> wrong(std::string finding) {
  return fail(error(Code::kBadInput, {}, "--calibrate: {}", finding).with_remedy(kRemedy));
}

// A run each: of each .npz in the order of their names, then that of all .npy.
Result<std::vector<Arrays>> runs_of(const std::string& folder) {
  TESSERA_TRY(const std::vector<std::string> files, calibration_files(folder));
  std::vector<Arrays> runs;
  Arrays loose;
  for (const std::string& file : files) {
    if (file.ends_with(".npz")) {
      TESSERA_TRY(Arrays arrays, read_npz(file));
      runs.push_back(std::move(arrays));
    } else {
      TESSERA_TRY(Tensor array, read_npy(file));
      loose[std::filesystem::path(file).stem().string()] = std::move(array);
    }
  }
  if (!loose.empty()) runs.push_back(std::move(loose));
  if (runs.empty()) return wrong(fmt::format("`{}` has no .npz and no .npy", folder));
  return runs;
}

bool fits(const Tensor& tensor, const exec::PortInfo& port) {
  return tensor.dtype == port.dtype &&
         std::ranges::equal(tensor.shape, port.shape, [](std::int64_t size, std::int64_t wanted) {
           return wanted < 0 || size == wanted;
         });
}

Result<std::vector<Tensor>> inputs_of(const Arrays& arrays, const exec::Session& session) {
  std::vector<Tensor> inputs;
  for (const exec::PortInfo& port : session.inputs()) {
    const auto found = arrays.find(port.name);
    if (found == arrays.end()) return wrong(fmt::format("input `{}` is not given", port.name));
    if (!fits(found->second, port)) {
      return wrong(fmt::format("input `{}` is given as {}, which it does not take", port.name,
                               to_string(found->second.type())));
    }
    inputs.push_back(found->second);
  }
  return inputs;
}

// Generated code for this machine, which rounds nothing.
CompileOptions reference_of(const CompileOptions& options) {
  CompileOptions reference = options;
  reference.targets = {host_target(options.targets)};
  reference.precision = kFloat32;
  reference.partition = Partition::kNone;
  reference.memory = {};
  reference.weights.clear();
  reference.require.clear();
  reference.calibrate.clear();
  reference.dump_dir.clear();
  return reference;
}

}  // namespace

Result<std::vector<std::string>> calibration_files(const std::string& folder) {
  std::error_code problem;
  std::vector<std::string> files;
  std::filesystem::directory_iterator entry(folder, problem);
  for (; !problem && entry != std::filesystem::directory_iterator(); entry.increment(problem)) {
    const std::string name = entry->path().string();
    if (name.ends_with(".npz") || name.ends_with(".npy")) files.push_back(name);
  }
  if (problem) {
    return fail(error(Code::kFileNotFound, {}, "--calibrate {} cannot be read: {}", folder,
                      problem.message())
                    .with_remedy("check the path"));
  }
  std::sort(files.begin(), files.end());
  return files;
}

Result<std::vector<double>> greatest_results(Module module, const CompileOptions& options) {
  TESSERA_TRY(const std::vector<Arrays> runs, runs_of(options.calibrate));
  const CompileOptions reference = reference_of(options);
  module.targets = reference.targets;
  Compilation compilation(reference, {});
  compilation.start_from({std::move(module), {}, options.limits});
  TESSERA_TRY(Lowered lowered, compilation.front_half());
  TESSERA_TRY(const auto session, compilation.start(std::move(lowered), {}));
  std::vector<double> greatest(session->outputs().size(), 0);
  for (const Arrays& arrays : runs) {
    TESSERA_TRY(const std::vector<Tensor> inputs, inputs_of(arrays, *session));
    TESSERA_TRY(const std::vector<Tensor> results, session->run(inputs));
    for (std::size_t i = 0; i < results.size(); ++i) {
      const double value = element_as_double(results[i], 0);
      if (!(value <= greatest[i])) greatest[i] = std::isnan(greatest[i]) ? greatest[i] : value;
    }
  }
  return greatest;
}

}  // namespace tessera::driver
