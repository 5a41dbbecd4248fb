// SPDX-License-Identifier: Apache-2.0
#include "tools/target_options.h"

#include <algorithm>

#include <fmt/ranges.h>

#include "backends/table.h"
#include "driver/lack_of.h"
#include "driver/load_model.h"
#include "passes/weight_rules.h"
#include "plan/algorithm.h"
#include "types/target_list.h"

namespace tessera::tools {
namespace {

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  std::string part;
  for (const char c : text + ",") {
    if (c != ',') {
      part += c;
    } else if (!part.empty()) {
      parts.push_back(std::exchange(part, ""));
    }
  }
  return parts;
}

// Puts the machine that the first external kind needs in front, if the list names none for it.
void add_machine(std::vector<Target>& targets) {
  const bool device = std::any_of(targets.begin(), targets.end(),
                                  [](const Target& t) { return t.device() == DeviceType::kCuda; });
  const std::string_view machine = device ? "cuda" : "cpu";
  if (std::none_of(targets.begin(), targets.end(),
                   [&](const Target& t) { return t.name() == machine; })) {
    const auto first = std::find_if(targets.begin(), targets.end(),
                                    [](const Target& t) { return t.is_external(); });
    targets.insert(first, Target(machine));
  }
}

// A machine says where code runs, not who makes it: a CPU that no back end is named for has those
// that need no asking.
void add_default_backends(std::vector<Target>& targets) {
  const bool is_cpu_alone = std::none_of(targets.begin(), targets.end(), [](const Target& t) {
    return t.is_external() || t.device() != DeviceType::kCpu;
  });
  if (!is_cpu_alone) return;
  const Target cpu = targets.front();
  for (const byoc::Backend* b : backends::all_backends()) {
    const std::optional<Target> usual = b->default_target(cpu);
    if (!usual) continue;
    const Target target = follow_machine(*usual, targets);
    if (!driver::lack_of(*b, target)) targets.push_back(target);
  }
}

Result<void> check_names(const std::vector<std::string>& required) {
  for (const std::string& name : required) {
    if (name == "native" || backends::find_backend(name) != nullptr) continue;
    std::vector<std::string_view> known = {"native"};
    for (const byoc::Backend* b : backends::all_backends()) known.push_back(b->name());
    return fail(error(Code::kBadOption, {}, "--require: there is no back end `{}`", name)
                    .with_remedy(fmt::format("name some of {}", fmt::join(known, ", "))));
  }
  return {};
}

Diagnostic no_such_target(const std::string& text, std::string_view kind) {
  std::vector<std::string> known;
  for (const TargetKind& k : target_kinds()) known.push_back("`" + k.name + "`");
  return error(Code::kBadTarget, {}, "target `{}`: this tessera has no back end `{}`", text, kind)
      .with_remedy(fmt::format("use one of {}", fmt::join(known, ", ")));
}

// Before the options of a target are looked at: what is offered instead is a name.
Result<void> check_kinds(const std::vector<std::string>& texts) {
  for (const std::string& text : texts) {
    const std::size_t begin = text.find_first_not_of(" \t\r\n");
    if (begin == std::string::npos || text[begin] == '{' || text[begin] == '[') continue;
    const std::string name = text.substr(begin, text.find_first_of(" \t\r\n", begin) - begin);
    if (find_target_kind(name) == nullptr) return fail(no_such_target(text, name));
  }
  return {};
}

Result<std::vector<Target>> targets_of(const ModelOptionTexts& texts) {
  std::vector<std::string> list = texts.targets;
  for (const std::string& name : split(texts.backends)) list.push_back(name);
  if (list.empty()) list = {"cpu"};
  TESSERA_TRY_VOID(check_kinds(list));
  TESSERA_TRY(std::vector<Target> targets, parse_targets(list));
  add_default_backends(targets);
  add_machine(targets);
  TESSERA_TRY_VOID(resolve_targets(targets));
  return targets;
}

DType dtype_of(const std::string& precision) {
  if (precision == "fp16") return kFloat16;
  return precision == "bf16" ? kBFloat16 : kFloat32;
}

}  // namespace

void add_import_options(CLI::App& command, ImportTexts& texts) {
  command
      .add_option("--dim", texts.dims,
                  "Size or range of a symbolic dimension: batch=1, seq=1..512:128, \"seq=8..512 "
                  "step 8:128\"")
      ->allow_extra_args(false);
  command
      .add_option(
          "--limit", texts.limits,
          "Set a limit of compiling (work, bytes or depth), NAME=NUMBER, where the one that "
          "follows from the model's size is too low: " +
              limit_names())
      ->allow_extra_args(false);
}

Result<Module> import_model(const std::string& path, const ImportTexts& texts) {
  TESSERA_TRY(const std::vector<driver::DimBinding> dims, driver::parse_dim_bindings(texts.dims));
  TESSERA_TRY(const LimitBindings limits, parse_limits(texts.limits));
  return driver::load_model(path, dims, {}, limits);
}

void add_model_options(CLI::App& command, ModelOptionTexts& t,
                       const std::vector<std::string>& partitions,
                       const std::vector<std::string>& precisions) {
  command
      .add_option(
          "--target", t.targets,
          "Machine or back end with options, in order of priority: "
          "\"cpu -mcpu=native\", \"cuda -arch=sm_90a\"; may be repeated. A CPU for which no back "
          "end is named has all that are available")
      ->allow_extra_args(false);
  command.add_option("--backends", t.backends, "Back ends in order of priority: onednn,blas");
  command
      .add_option(
          "--partition", t.partition,
          "How regions go to back ends; none: to native code alone; greedy: by the order of "
          "the targets")
      ->check(CLI::IsMember(partitions))
      ->capture_default_str();
  command
      .add_option("--precision", t.precision,
                  "What a float32 model is computed in; with fp16 and bf16 sums, exponentials and "
                  "norms stay in float32, and so do inputs and outputs. On a CPU that takes "
                  "instructions of the type (AVX512_BF16, AMX, AVX512_FP16) and the back end "
                  "onednn, or no back end, for products of bf16 by AVX512_BF16; without them all "
                  "stays in float32")
      ->check(CLI::IsMember(precisions))
      ->capture_default_str();
  add_import_options(command, t.import);
  command
      .add_option(
          "--require", t.require,
          "Make it an error if a matrix product or convolution is on none of these back ends")
      ->delimiter(',');
  command.add_option(
      "--weights", t.options.weights,
      "How weights are stored. lossless: packed, with the same bits when the library is loaded. "
      "Constant matrices of products: int8 or int4, then :group=32, 64 or 128 and "
      "symmetric or asymmetric as wanted (\"int4:group=64,symmetric\"), kept unless named: "
      "@embedding (tables that rows are taken from), @first, @last, @small. fp8, then :channel or "
      "tensor and static (--calibrate) or dynamic: products "
      "of floats of eight bits, likewise. With PATTERN= in front for nodes of these names alone, "
      "\"*/lm_head*=keep\"; repeatable, the last that fits decides");
  command.add_option("--calibrate", t.options.calibrate,
                     "Folder with inputs for the scales of --weights fp8: an .npz for each run, "
                     "or NAME.npy for each input");
  command
      .add_option(
          "--pool", t.pools,
          "Memory for what a run computes, \"name=fast,space=host,size=2MB\"; repeatable, in "
          "order of preference (docs/memory.md)")
      ->allow_extra_args(false);
  command.add_flag("--pool-io", t.options.memory.places_ports,
                   "Inputs and outputs lie in pools, too, where the library tells "
                   "(docs/memory.md); for a CPU, and sizes that have a bound");
  command.add_option("--plan-memory", t.options.memory.algorithm,
                     "Algorithm that places buffers in pools: " + plan::algorithm_names());
  command.add_flag("--strict", t.options.strict,
                   "A back end that fails to compile its region is an error");
  command.add_flag("--unchecked-indices", t.options.unchecked_indices,
                   "Omit the checks, in each run, that indices of gathers and scatters lie inside; "
                   "an index outside then gives values without meaning");
  command.add_flag("--link-params,!--no-link-params", t.options.link_params,
                   "Let kernels of generated code hold the constants that they read, instead of "
                   "getting them as arguments; off unless given");
  command.add_option("--dump-dir", t.options.dump_dir,
                     "Write the module after each pass, loop IR, plan, and emitted sources here");
  command
      .add_option("--records", t.options.records,
                  "Choose configurations of kernels by the measurements in this file")
      ->check(check_records_name);
  command
      .add_option("--compiler-timeout", t.options.compiler_limit_s,
                  "Seconds after which one run of a compiler is stopped, as an error")
      ->check(CLI::Range(1.0, 1e6))
      ->capture_default_str();
  command.add_option("--jobs", t.options.jobs, "Compilers that run at once (0: one a CPU)")
      ->check(CLI::Range(0, 1024));
}

std::string check_records_name(const std::string& name) {
  return name.empty() ? "the name of the file is empty" : "";
}

void add_tuning_options(CLI::App& command, ModelOptionTexts& t) {
  driver::TuningOptions& tuning = t.options.tuning;
  command
      .add_option("--budget", tuning.budget_s,
                  "Seconds for compiling and measuring candidates, of all work together")
      ->check(CLI::Range(1.0, 1e6))
      ->capture_default_str();
  command
      .add_option(
          "--candidates", tuning.kernels,
          "At most so many kernels of each product, convolution or attention are compiled and "
          "measured, and four times so many ways of a vendor's library")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
}

void add_collage_options(CLI::App& command, ModelOptionTexts& t) {
  command
      .add_option("--largest-share", t.options.tuning.largest_share,
                  "With --partition collage: what the times at the largest of open sizes count, "
                  "where those at the likely sizes count the rest")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  command
      .add_option("--evolve", t.options.tuning.evolve_s,
                  "With --partition collage: seconds for the second level, which builds and times "
                  "whole plans that evolve from the first level's; 0: none")
      ->check(CLI::Range(0.0, 1e6))
      ->capture_default_str();
}

namespace {

Result<void> check_weights(const driver::CompileOptions& options) {
  TESSERA_TRY(const std::vector<passes::WeightRule> rules,
              passes::parse_weight_rules(options.weights));
  const bool has_float8 =
      std::ranges::any_of(rules, [](const auto& rule) { return rule.form.float8.has_value(); });
  if (options.calibrate.empty() || has_float8) return {};
  return fail(error(Code::kBadOption, {}, "--calibrate is of --weights fp8")
                  .with_remedy("add it, or omit --calibrate"));
}

}  // namespace

Result<driver::CompileOptions> resolve(const ModelOptionTexts& texts) {
  driver::CompileOptions options = texts.options;
  TESSERA_TRY(options.targets, targets_of(texts));
  TESSERA_TRY(options.dims, driver::parse_dim_bindings(texts.import.dims));
  TESSERA_TRY(options.limits, parse_limits(texts.import.limits));
  for (const auto partition : {driver::Partition::kNone, driver::Partition::kCollage}) {
    if (texts.partition == to_string(partition)) options.partition = partition;
  }
  options.precision = dtype_of(texts.precision);
  TESSERA_TRY_VOID(check_weights(options));
  TESSERA_TRY(options.memory.pools, plan::parse_pools(texts.pools));
  TESSERA_TRY_VOID(plan::find_algorithm(options.memory.algorithm));
  TESSERA_TRY_VOID(check_names(texts.require));
  options.require = texts.require;
  return options;
}

}  // namespace tessera::tools
