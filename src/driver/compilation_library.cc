// SPDX-License-Identifier: Apache-2.0
// From what was lowered to the library that is written, or to a session in this process.
#include <filesystem>
#include <iterator>
#include <set>

#include <fmt/format.h>

#include "driver/compilation.h"
#include "driver/dimensions.h"
#include "driver/metadata.h"
#include "driver/outputs.h"
#include "driver/pack_weights.h"
#include "driver/report_page.h"
#include "driver/run_inputs.h"
#include "driver/vendor_libraries.h"
#include "driver/verify.h"
#include "driver/warnings.h"
#include "driver/weights_json.h"
#include "link/library_file.h"
#include "runtime/program.h"
#include "support/files.h"
#include "support/peak_memory.h"
#include "types/target_list.h"

namespace tessera::driver {
namespace {

constexpr double kVerifySeconds = 60;

}  // namespace

Result<void> Compilation::make_library() {
  TESSERA_TRY(const Lowered lowered, front_half());
  return finish(lowered);
}

Result<void> Compilation::finish(const Lowered& lowered) {
  if (options_.verify) {
    TESSERA_TRY_VOID(verify(lowered));
  }
  return write_library(lowered);
}

Result<void> Compilation::write_library(const Lowered& lowered) {
  TESSERA_TRY(emit::PackedBlobs packed, pack(lowered));
  report.weight_bytes = layout_weights(lowered, packed)[0].bytes;
  report.arena_bytes = static_cast<std::uint64_t>(plan::pool_bytes(lowered.plan));
  collect_libraries(lowered.module);
  emit::ProgramInfo info = program_info(lowered);
  info.packed = std::move(packed);
  std::vector<link::WeightPiece> inside;
  if (options_.bundle != Bundle::kNone) {
    TESSERA_TRY(info.bundled, bundled_files(lowered.module));
    if (options_.bundle == Bundle::kInside) {
      TESSERA_TRY(inside, put_inside(lowered.module, report.weight_bytes, info.bundled));
    }
    for (const auto& [name, file] : info.bundled) info.build_id += name + file.hash;
    info.build_id = hash_text(info.build_id).hex();
  }
  TESSERA_TRY(link::LinkInput input,
              build_objects(lowered, info, emit::ProgramKind::kModel, machines_[0], *toolchain_));
  report.is_one_file = !inside.empty();
  if (info.has_packed_files()) input.runtime_archives.emplace_back("inflate");
  for (const link::WeightPiece& file : inside) {
    input.weights_bytes = file.offset + file.blob->bytes().size();
    input.weights.push_back(file);
  }
  done("compile kernels", fmt::format("{} objects", input.objects.size()));
  if (options_.bundle == Bundle::kBeside) {
    TESSERA_TRY_VOID(bundle_libraries(lowered.module, options_.output));
  } else if (options_.bundle == Bundle::kNone && !options_.reproducible) {
    report.vendor_folders = input.vendor_folders = vendor_library_folders(lowered.module);
  }
  TESSERA_TRY_VOID(link::link_library(*toolchain_, input, options_.output));
  std::error_code has_no_size;  // a device has none
  const std::uintmax_t bytes = std::filesystem::file_size(options_.output, has_no_size);
  report.library_bytes = has_no_size ? 0 : bytes;
  done("link", fmt::format("{} bytes", report.library_bytes));
  report.seconds = std::chrono::duration<double>(Clock::now() - begin_).count();
  report.peak_bytes = tree_peak_bytes();
  return write_report(lowered, layout_weights(lowered, info.packed)[0], input.objects);
}

Result<emit::PackedBlobs> Compilation::pack(const Lowered& lowered) {
  TESSERA_TRY(const std::vector<passes::WeightRule> rules,
              passes::parse_weight_rules(options_.weights));
  const auto& need_of = lowered.plan.constants.need_of;
  std::set<std::int32_t> seen;
  PackedWeights packed = pack_weights(lowered.module, rules, need_of[0], seen);
  for (std::size_t i = 0; i < lowered.others.size(); ++i) {
    packed.blobs.merge(pack_weights(lowered.others[i].module, rules, need_of[i + 1], seen).blobs);
  }
  report.weights.insert(report.weights.end(), packed.rows.begin(), packed.rows.end());
  if (!packed.rows.empty()) done("pack weights", what_was_stored(packed.rows));
  return std::move(packed.blobs);
}

Result<void> Compilation::write_report(const Lowered& lowered, const emit::WeightsLayout& weights,
                                       const std::vector<std::string>& objects) {
  if (options_.report.empty()) return {};
  TESSERA_TRY(const link::LibraryFile file, link::read_library_file(options_.output));
  const std::string page = report_page({options_, report, lowered, weights, objects, file.needed});
  if (auto written = write_atomically(options_.report, page); !written) {
    return fail(error(Code::kFileNotWritable, {}, "cannot write {}", written.error().text())
                    .with_remedy("choose another file for --report"));
  }
  return {};
}

void Compilation::collect_libraries(const Module& module) {
  std::set<std::string> vendor;
  for (const Artifact& a : module.artifacts) {
    vendor.insert(a.vendor_libraries.begin(), a.vendor_libraries.end());
  }
  report.needed_libraries.assign(vendor.begin(), vendor.end());
  if (!is_on_host(compute_space(options_.targets))) {
    report.needed_libraries.insert(report.needed_libraries.begin(), "libcuda.so.1");
  }
}

emit::ProgramInfo Compilation::program_info(const Lowered& lowered) const {
  emit::ProgramInfo info;
  const Target target = compute_target(options_.targets);
  info.target = short_text(target_for(target, machines_[0]));
  info.cpu_arch = tessera_host_arch();
  info.cpu_features = machines_[0].cpu_features;
  info.metadata_json = metadata_json(lowered, report, short_text(target), machines_);
  std::string key = info.metadata_json + toolchain_->identity();
  const emit::WeightsLayout weights = layout_weights(lowered)[0];
  for (const auto& piece : weights.pieces) {
    key += piece.blob->hash().hex();
  }
  info.build_id = hash_text(key).hex();
  return info;
}

Result<std::unique_ptr<exec::Session>> Compilation::start(Lowered lowered,
                                                          const exec::SessionOptions& session,
                                                          exec::CallObserver observer) {
  emit::ProgramInfo info = program_info(lowered);
  info.target = short_text(target_for(compute_target(options_.targets), machines_[here_]));
  info.cpu_features = machines_[here_].cpu_features;
  TESSERA_TRY(const KernelLibrary kernels,
              KernelLibrary::load(lowered_for(std::move(lowered), here_), info, machines_[here_],
                                  *toolchain_));
  return kernels.open_main(session, std::move(observer));
}

Result<void> Compilation::write_to_be_timed(const Lowered& lowered, const std::string& path,
                                            SharedWeightsFile& weights) {
  TESSERA_TRY(link::LinkInput input,
              build_objects(lowered, program_info(lowered), emit::ProgramKind::kModel, machines_[0],
                            *toolchain_, &weights));
  input.vendor_folders = vendor_library_folders(lowered.module);
  return link::link_library(*toolchain_, input, path);
}

void Compilation::compile_ahead(std::span<const Written> libraries) {
  if (libraries.empty()) return;
  link::Toolchain& toolchain = *libraries.front().first->toolchain_;
  if (toolchain.cache().folder().empty()) return;
  std::vector<CompileJob> jobs;
  for (const auto& [compilation, lowered] : libraries) {
    auto more = function_sources(lowered->module, compilation->machines_[0]);
    std::move(more.begin(), more.end(), std::back_inserter(jobs));
  }
  toolchain.compile_until(jobs, link::Toolchain::Clock::time_point::max());
}

Result<void> Compilation::verify(const Lowered& lowered) {
  const Lowered here = lowered_for(lowered, here_);
  Verifier verifier(here.module, kVerifySeconds);
  auto started =
      start(lowered, {},
            [&](const std::string& symbol, std::span<const Tensor> inputs,
                std::span<const Tensor> outputs) { verifier.compare(symbol, inputs, outputs); });
  if (!started) {
    Diagnostic& why = started.error().list.front();
    if (why.remedy.empty()) why.remedy = "--verify runs the model on this machine: omit it";
  }
  TESSERA_TRY(const std::unique_ptr<exec::Session> session, std::move(started));
  TESSERA_TRY(const RunInputs ran, run_with_random_inputs(*session, likely_shapes(lowered)));
  TESSERA_TRY(const VerifySummary summary, verifier.finish());
  done("verify", to_string(summary));
  if (options_.precision == kFloat32 || !report.errors.empty()) return {};
  return compare_with_float32(session->outputs(), ran.inputs, ran.outputs);
}

Result<void> Compilation::measure_errors(
    const Lowered& lowered,
    const std::function<Result<std::vector<Tensor>>(exec::Session&)>& inputs) {
  auto started = start(lowered, {});
  if (!started) {
    Diagnostic& why = started.error().list.front();
    if (why.remedy.empty()) why.remedy = "--precision auto runs the model on this machine: omit it";
  }
  TESSERA_TRY(const std::unique_ptr<exec::Session> session, std::move(started));
  RunInputs ran;
  if (inputs) {
    TESSERA_TRY(ran.inputs, inputs(*session));
    TESSERA_TRY(ran.outputs, session->run(ran.inputs));
  } else {
    TESSERA_TRY(ran, run_with_random_inputs(*session, likely_shapes(lowered)));
  }
  return compare_with_float32(session->outputs(), ran.inputs, ran.outputs);
}

Result<void> Compilation::compare_with_float32(const std::vector<exec::PortInfo>& ports,
                                               const std::vector<Tensor>& inputs,
                                               const std::vector<Tensor>& outputs) {
  CompileOptions reference = options_;
  reference.precision = kFloat32;
  reference.partition = Partition::kNone;
  reference.require.clear();
  reference.dump_dir.clear();
  TESSERA_TRY(const std::unique_ptr<exec::Session> session, prepare_in_process(reference, {}));
  TESSERA_TRY(const std::vector<Tensor> expected, session->run(inputs));
  for (std::size_t i = 0; i < expected.size(); ++i) {
    report.errors.push_back(output_error(ports[i].name, outputs[i], expected[i]));
    const OutputError& e = report.errors.back();
    if (e.overflown > 0) report.warnings.push_back(overflow_of(e, options_.precision));
  }
  done("float32 model", to_string(report.errors));
  return {};
}

}  // namespace tessera::driver
