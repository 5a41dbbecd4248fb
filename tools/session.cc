// SPDX-License-Identifier: Apache-2.0
#include "tools/session.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "constants/npy.h"
#include "driver/compile.h"
#include "link/library_file.h"
#include "support/hash.h"
#include "tessera/model.h"

namespace tessera::tools {
namespace {

// A file that cannot be looked at counts as one that is not there.
bool exists(const std::string& path) {
  std::error_code cannot_be_seen;
  return std::filesystem::exists(path, cannot_be_seen);
}

}  // namespace

bool is_library(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  char magic[4] = {};
  file.read(magic, sizeof(magic));
  const bool is_elf = file && std::string_view(magic, 4) ==
                                  "\x7f"
                                  "ELF";
  return is_elf || path.ends_with(".so");
}

namespace {

// What a library is made of was decided when it was compiled.
Result<void> check_for_library(const ModelOptionTexts& model) {
  const std::pair<const char*, bool> given[] = {
      {"--target", !model.targets.empty()},
      {"--backends", !model.backends.empty()},
      {"--dim", !model.import.dims.empty()},
      {"--require", !model.require.empty()},
      {"--weights", !model.options.weights.empty()},
      {"--calibrate", !model.options.calibrate.empty()},
      {"--pool", !model.pools.empty()},
      {"--pool-io", model.options.memory.places_ports},
      {"--plan-memory", !model.options.memory.algorithm.empty()},
      {"--strict", model.options.strict},
      {"--unchecked-indices", model.options.unchecked_indices},
      {"--link-params", model.options.link_params},
      {"--dump-dir", !model.options.dump_dir.empty()},
      {"--records", !model.options.records.empty()},
      {"--partition", model.partition != "greedy"},
      {"--precision", model.precision != "fp32"},
      {"--compiler-timeout", model.options.compiler_limit_s != link::kToolLimitSeconds},
      {"--jobs", model.options.jobs != 0}};
  for (const auto& [option, is_given] : given) {
    if (!is_given) continue;
    return fail(error(Code::kBadOption, {}, "`{}` is a compiled library: {} has no effect on it",
                      model.options.model, option)
                    .with_remedy("give the option to `tessera compile`, or run the model itself"));
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<exec::Session>> open_session(const ModelOptionTexts& model,
                                                    const exec::SessionOptions& options) {
  const std::string& path = model.options.model;
  if (options.threads < 0 || options.threads > TESSERA_MAX_THREADS) {
    return fail(error(Code::kBadOption, {}, "--threads {}: there are {}", options.threads,
                      options.threads < 0
                          ? std::string("no fewer than 0 threads")
                          : fmt::format("at most {} threads in an instance", TESSERA_MAX_THREADS))
                    .with_remedy("give the number of threads, or 0 for one a CPU"));
  }
  if (!exists(path)) {
    return fail(
        error(Code::kFileNotFound, {}, "`{}` does not exist", path).with_remedy("check the path"));
  }
  if (is_library(path)) {
    TESSERA_TRY_VOID(check_for_library(model));
    TESSERA_TRY_VOID(link::read_library_file(path));  // not loaded before it is known to be whole
    return exec::Session::open_library(path, options);
  }
  TESSERA_TRY(const driver::CompileOptions compile_options, resolve(model));
  Diagnostics warnings;
  auto session = driver::prepare_in_process(
      compile_options, options, [&](const Diagnostic& warning) { warnings.add(warning); });
  if (!warnings.empty()) report(warnings);
  return session;
}

namespace {

constexpr std::size_t kLongestFileName = 200;  // without its ending

// The name with each character that files do not have as `_`, or as `%` and its code; what folders
// have no room for ends in a hash.
std::string file_name(const std::string& tensor, bool coded) {
  std::string name;
  for (const char c : tensor) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0 || c == '_' || c == '.' || c == '-') {
      name += c;
    } else {
      name += coded ? fmt::format("%{:02X}", byte) : "_";
    }
  }
  if (name.size() <= kLongestFileName) return name;
  return name.substr(0, kLongestFileName - 33) + "_" + hash_text(tensor).hex();
}

}  // namespace

std::vector<std::string> npy_files(const std::string& folder,
                                   const std::vector<exec::PortInfo>& ports) {
  std::map<std::string, std::set<std::string>> users;
  for (const exec::PortInfo& port : ports) users[file_name(port.name, false)].insert(port.name);
  std::vector<std::string> files;
  for (const exec::PortInfo& port : ports) {
    const bool shared = users[file_name(port.name, false)].size() > 1;
    files.push_back(folder + "/" + file_name(port.name, shared) + ".npy");
  }
  return files;
}

namespace {

std::vector<exec::PortInfo> inputs_and_weights(const exec::Session& session) {
  std::vector<exec::PortInfo> ports = session.inputs();
  ports.insert(ports.end(), session.weights().begin(), session.weights().end());
  return ports;
}

// Every .npy file must be an input: a misspelt one would be replaced by random numbers.
Result<void> check_names(const exec::Session& session, const std::string& folder) {
  if (folder.empty()) return {};
  const std::vector<exec::PortInfo> ports = inputs_and_weights(session);
  const std::vector<std::string> known = npy_files(folder, ports);
  std::vector<std::string> names;
  for (const exec::PortInfo& port : ports) names.push_back("`" + port.name + "`");
  std::vector<std::string> files;
  std::error_code problem;
  std::filesystem::directory_iterator entry(folder, problem);
  for (; !problem && entry != std::filesystem::directory_iterator(); entry.increment(problem)) {
    files.push_back(folder + "/" + entry->path().filename().string());
  }
  if (problem) {
    return fail(
        error(Code::kFileNotFound, {}, "--inputs {} cannot be read: {}", folder, problem.message())
            .with_remedy("check its permissions"));
  }
  std::sort(files.begin(), files.end());
  Diagnostics errors;
  for (const std::string& file : files) {
    if (!file.ends_with(".npy") || std::find(known.begin(), known.end(), file) != known.end())
      continue;
    errors.add(
        error(Code::kBadInput, {}, "`{}` is not an input of the model, which has {}", file,
              fmt::join(names, ", "))
            .with_remedy(fmt::format("the files of its inputs are {}", fmt::join(known, ", "))));
  }
  if (!errors.empty()) return fail(std::move(errors));
  return {};
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::vector<std::string> sizes;
  for (const std::int64_t n : shape) sizes.push_back(n < 0 ? "?" : fmt::format("{}", n));
  return fmt::format("({})", fmt::join(sizes, ", "));
}

// What the file shows already is said with the file's name; relations between sizes are the model's
// to check.
Result<Tensor> read_input(const std::string& file, const exec::PortInfo& port) {
  TESSERA_TRY(Tensor tensor, read_npy(file));
  const auto wrong = [&](const std::string& found, const std::string& wanted) {
    return fail(error(Code::kBadInput, {}, "`{}` has {}: input `{}` takes {}", file, found,
                      port.name, wanted)
                    .with_remedy("write it again with numpy.save; `tessera inspect` lists the "
                                 "inputs that the model takes"));
  };
  if (tensor.dtype != port.dtype) {
    return wrong("the data type " + to_string(tensor.dtype), to_string(port.dtype));
  }
  bool fits = tensor.shape.size() == port.shape.size();
  for (std::size_t d = 0; fits && d < port.shape.size(); ++d) {
    fits = port.shape[d] < 0 || port.shape[d] == tensor.shape[d];
  }
  if (!fits) return wrong("the shape " + shape_text(tensor.shape), shape_text(port.shape));
  return tensor;
}

}  // namespace

Result<std::vector<Tensor>> read_inputs(exec::Session& session, const std::string& folder) {
  std::vector<Tensor> inputs;
  std::error_code cannot_be_seen;
  if (!folder.empty() && !std::filesystem::is_directory(folder, cannot_be_seen)) {
    return fail(error(Code::kFileNotFound, {}, "--inputs {}: there is no such folder", folder)
                    .with_remedy("check the path"));
  }
  TESSERA_TRY_VOID(check_names(session, folder));
  const std::vector<exec::PortInfo> ports = inputs_and_weights(session);
  const std::vector<std::string> files = npy_files(folder, ports);
  const std::size_t input_count = session.inputs().size();
  for (std::size_t i = 0; i < files.size(); ++i) {
    std::optional<Tensor> given;
    if (!folder.empty() && exists(files[i])) {
      TESSERA_TRY(given, read_input(files[i], ports[i]));
    }
    if (i < input_count) {
      inputs.push_back(given ? *given : exec::random_input(ports[i], i));
    } else if (given) {
      TESSERA_TRY_VOID(session.set_weight(ports[i].name, *given));
    }
  }
  return inputs;
}

}  // namespace tessera::tools
