// SPDX-License-Identifier: Apache-2.0
#include "driver/pipeline.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "driver/calibration.h"
#include "driver/catalogue.h"
#include "driver/pass_order.h"
#include "driver/placement.h"
#include "driver/placement_table.h"
#include "driver/save_module_text.h"
#include "driver/warnings.h"
#include "module/text.h"
#include "ops/inference/infer_types.h"
#include "ops/records/table.h"
#include "passes/widening_report.h"
#include "relay/function_attributes.h"
#include "relay/inline_literals.h"
#include "support/files.h"
#include "types/target_list.h"

namespace tessera::driver {
namespace {

bool same_bytes(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Tensor& x, const Tensor& y) {
    return x.blob == y.blob && x.shape == y.shape;
  });
}

// Writes modules as text, and their larger constants into an .npz whose members `0`, `1`, ... are
// the text's meta[relay.Constant][0], [1], ...; one file serves all texts that have the same
// constants.
class Dumper {
 public:
  explicit Dumper(std::string prefix) : prefix_(std::move(prefix)) {}

  Result<void> operator()(const Module& module, const std::string& stem) {
    const TextAndConstants dump = print_apart(module);
    const std::filesystem::path path = std::filesystem::path(stem).parent_path() /
                                       (prefix_ + std::filesystem::path(stem).filename().string());
    if (!dump.constants.empty() && (file_.empty() || !same_bytes(dump.constants, written_))) {
      file_ = path.string() + ".npz";
      written_ = dump.constants;
      TESSERA_TRY_VOID(write_text_constants(file_, written_));
    }
    const std::string metadata =
        dump.constants.empty() ? "" : metadata_in(std::filesystem::path(file_).filename().string());
    if (auto written = write_atomically(path.string() + ".relay", dump.text + metadata); !written) {
      return fail(error(Code::kFileNotWritable, {}, "cannot write {}", written.error().text())
                      .with_remedy("choose another folder for --dump-dir"));
    }
    return {};
  }

 private:
  std::string prefix_, file_;
  std::vector<Tensor> written_;
};

Result<Module> run_list(Module module, const std::string& stage, std::string_view list,
                        const CompileOptions& options, std::vector<Diagnostic>& warnings,
                        GraphReport* report = nullptr) {
  TESSERA_TRY(auto calls, passes::parse_pipeline(list, pass_catalogue()));
  const Limits limits = limits_for(constant_bytes(module), options.limits);
  for (passes::PassCall& call : calls) {
    if (call.pass->name == "quantize-weights") {
      call.options.set("rules",
                       relay::AttrCodec<std::vector<std::string>>::encode(options.weights));
    }
    if (call.pass->name == "list-float-operators") {
      call.options.set("integers", std::string(integer_products(options)));
    }
    if (call.pass->name != "fold-constant") continue;
    call.options.set("work", limits.fold_work);
    call.options.set("bytes", limits.constant_bytes);
  }
  passes::ManagerOptions manager;
  manager.dump_dir = options.dump_dir;
  manager.dump = Dumper(stage + "_");
  if (!options.calibrate.empty()) {
    manager.greatest_results = [&](Module observed) {
      return greatest_results(std::move(observed), options);
    };
  }
  TESSERA_TRY(passes::ManagerOutcome outcome,
              passes::run_passes(std::move(module), calls, ops::operators(), manager));
  for (Diagnostic& w : outcome.warnings) warnings.push_back(std::move(w));
  if (report != nullptr) {
    report->weights = std::move(outcome.weights);
    report->float_operators = std::move(outcome.float_operators);
  }
  return ops::infer_types(std::move(outcome.module));
}

// Function literals that mean nothing to passes or back ends are a way of writing; composites that
// no back end took mean nothing any more.
Module without_plain_literals(Module module) {
  for (auto& [name, f] : module.functions) {
    if (!relay::is_optimizable(f)) continue;
    CheckContext context("in @" + name);
    f = relay::inline_literals(f, [](relay::NodeId, const relay::Literal& literal) {
      return literal.attrs.find("Compiler") == nullptr && !relay::is_primitive(literal.attrs);
    });
  }
  return module;
}

std::string names_of(std::span<const DType> dtypes) {
  std::vector<std::string> names;
  for (const DType dtype : dtypes) names.push_back(to_string(dtype));
  return fmt::format("{}", fmt::join(names, " and "));
}

std::string_view device_of(const CompileOptions& options) {
  return to_string(compute_target(options.targets).device());
}

// Why they are not computed in.
std::string no_kernels_of(std::span<const DType> dtypes, const CompileOptions& options) {
  return fmt::format("nothing on this {} has kernels of {}", device_of(options), names_of(dtypes));
}

}  // namespace

std::uint64_t constant_bytes(const Module& module) {
  std::uint64_t bytes = 0;
  for (const Tensor& t : module.constants.tensors()) bytes += t.blob->size_bytes();
  return bytes;
}

Result<Widened> widen_precision(Module module, std::span<const DType> dtypes,
                                const CompileOptions& options, std::vector<Diagnostic>& warnings) {
  if (dtypes.empty()) return Widened{std::move(module), ""};
  TESSERA_TRY(module, ops::infer_types(std::move(module)));
  const passes::WideningReport found = passes::widening_report(module, dtypes);
  if (found.operators == 0) return Widened{std::move(module), ""};
  std::vector<std::string> names;
  for (const DType dtype : dtypes) names.push_back(to_string(dtype));
  const std::string list =
      pass_list(Stage::kWidening, options, fmt::format("{}", fmt::join(names, ",")));
  TESSERA_TRY(module, run_list(without_plain_literals(std::move(module)), "widening", list, options,
                               warnings));
  const std::int64_t more =
      passes::widening_report(module, dtypes).constant_bytes - found.constant_bytes;
  return Widened{
      std::move(module),
      fmt::format("{} operators in float32, as {}; constants take {} more", found.operators,
                  no_kernels_of(found.dtypes, options),
                  size_text(static_cast<std::uint64_t>(std::max<std::int64_t>(more, 0))))};
}

Result<Module> optimize_graph(Module module, const CompileOptions& options,
                              std::vector<Diagnostic>& warnings, GraphReport* report) {
  module = without_plain_literals(std::move(module));
  return run_list(std::move(module), "graph", pass_list(Stage::kGraph, options), options, warnings,
                  report);
}

Result<Reduced> reduce_precision(Module module, std::span<const DType> widened,
                                 const CompileOptions& options, std::vector<Diagnostic>& warnings) {
  const DType low = options.precision;
  if (std::find(widened.begin(), widened.end(), low) != widened.end()) {
    const std::string why = no_kernels_of({&low, 1}, options);
    passes::PrecisionReport report = passes::unchanged_precision(module, low, why);
    return Reduced{std::move(module), std::move(report), "all in float32, as " + why};
  }
  const std::string list = pass_list(Stage::kPrecision, options, to_string(low));
  TESSERA_TRY(module, run_list(std::move(module), "precision", list, options, warnings));
  if (auto vain = vain_precision(module, low)) warnings.push_back(*std::move(vain));
  passes::PrecisionReport report = passes::precision_report(module, low);
  const std::string what = to_string(report);
  return Reduced{std::move(module), std::move(report), what};
}

Result<Module> convert_layouts(Module module, const std::vector<std::string>& desired,
                               const CompileOptions& options, std::vector<Diagnostic>& warnings) {
  const std::string layouts = fmt::format("{}", fmt::join(desired, ","));
  return run_list(
      std::move(module), "layout",
      pass_list(Stage::kLayout, options, layouts) + "," + pass_list(Stage::kLaidOut, options),
      options, warnings);
}

Result<Module> finish_layouts(Module module, const CompileOptions& options,
                              std::vector<Diagnostic>& warnings) {
  return run_list(std::move(module), "layout", pass_list(Stage::kLaidOut, options), options,
                  warnings);
}

Result<Module> fold_norms(Module module, const CompileOptions& options,
                          std::vector<Diagnostic>& warnings) {
  return run_list(std::move(module), "norms", pass_list(Stage::kNorms, options), options, warnings);
}

Result<Module> prepare_native(Module module, const CompileOptions& options,
                              std::vector<Diagnostic>& warnings) {
  return run_list(std::move(module), "native",
                  pass_list(Stage::kNative, options, options.link_params ? "true" : "false"),
                  options, warnings);
}

std::string native_widening(const Module& module, const CompileOptions& options) {
  const auto found =
      passes::widening_report(module, slow_16_bit_types(options), native_product_types(options));
  if (found.operators == 0) return "";
  return fmt::format("{} operators in float32, as code made for this {} has no kernels of {}{}",
                     found.operators, device_of(options), names_of(found.dtypes),
                     native_product_types(options).empty() ? "" : " but for products");
}

}  // namespace tessera::driver
