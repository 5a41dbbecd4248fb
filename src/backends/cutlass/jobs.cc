// SPDX-License-Identifier: Apache-2.0
#include "backends/cutlass/jobs.h"

#include <cstdlib>

#include "backends/cutlass/measuring/measure_source.h"
#include "backends/cutlass/source.h"
#include "types/gpu_arch.h"

namespace tessera::backends::cutlass {
namespace {

void add_headers(CompileJob& job, std::initializer_list<std::string_view> headers) {
  for (const std::string_view header : headers) {
    job.headers.push_back(fmt::format("backends/cutlass/kernels/{}", header));
  }
}

std::string architecture_flag(const Target& target) {
  const std::string arch = architecture(target);
  return gencode_flag(arch, target.get_bool("ptx") && has_ptx_for_later(arch));
}

// CUTLASS's convolutions include a header of its tools.
std::string tools_folder(const Target& target) {
  return include_folder(target) + "/../tools/util/include";
}

// CUTLASS's attention kernels are an example beside its headers.
std::string attention_folder(const Target& target) {
  return include_folder(target) + "/../examples/88_hopper_fmha";
}

// Where the sources stay, and how many nvcc run at once, as far as the target says it.
void apply_options(CompileJob& job, const Target& target) {
  const TargetValue& folder = target.values().at("tmp_dir");
  const TargetOption* option = find_target_kind(target.name())->find_option("tmp_dir");
  if (folder != option->default_value) job.kept_in = std::get<std::string>(folder);
  if (target.get_int("threads") > 0) job.at_once = static_cast<int>(target.get_int("threads"));
}

CompileJob cutlass_job(std::string symbol, Source source, const Target& target,
                       std::initializer_list<std::string_view> headers) {
  CompileJob job{std::move(symbol), std::move(source), "cu", {}, {}, {}};
  job.flags = {architecture_flag(target), "-diag-suppress=2908"};
  job.include_folders = {include_folder(target), tools_folder(target), attention_folder(target)};
  job.compiles_apart = true;
  apply_options(job, target);
  add_headers(job, headers);
  job.headers.emplace_back("cutlass/version.h");
  return job;
}

CompileJob contest_job(Source source, const Target& target) {
  CompileJob job{"cutlass_measure", std::move(source), "cu", {architecture_flag(target)}, {}, {}};
  apply_options(job, target);
  add_headers(job, {"measure_operands.cuh", "measure_result.cuh", "measure_contest.cuh"});
  return job;
}

// After sums of integers: what becomes an integer again is then what the graph's operators give.
void round_each_step(CompileJob& job, const Gemm& gemm) {
  if (gemm.sum_dtype == kInt32) job.flags.emplace_back("-fmad=false");
}

}  // namespace

std::string include_folder(const Target& target) {
  const std::string& given = target.get_string("include");
  if (!given.empty()) return given;
  const char* named = std::getenv("TESSERA_CUTLASS_INCLUDE");
  return named != nullptr ? named : TESSERA_CUTLASS_INCLUDE;
}

std::vector<std::string> needed_headers(const Target& target) {
  return {include_folder(target) + "/cutlass/version.h",
          tools_folder(target) + "/cutlass/util/packed_stride.hpp",
          attention_folder(target) + "/collective/fmha_fusion.hpp"};
}

CompileJob kernel_job(const Gemm& gemm, const Configuration& c, const Target& target) {
  CompileJob job =
      cutlass_job(kernel_symbol(gemm, c), kernel_source(gemm, c), target,
                  {"gemm.h", "launch.cuh", "elementwise.cuh", template_header(gemm, c).text()});
  if (c.schedule == Schedule::kStreamK || gemm.is_float8() || gemm.mixed) {
    add_headers(job, {"gemm_sm90.cuh"});
  }
  if (c.schedule == Schedule::kMultistage) {
    add_headers(job, {"epilogue_sm80.cuh", "launch_sm80.cuh"});
    if (gemm.convolution) add_headers(job, {"conv_kernel_sm80.cuh"});
    if (!gemm.convolution || gemm.is(ConvolutionKind::kWeightGradient)) {
      add_headers(job, {"split_sums_sm80.cuh"});
    }
    if (gemm.is(ConvolutionKind::kTransposed)) {
      add_headers(job, {"class_of_places.h", "host_device.h", "strided_rows_sm80.cuh"});
    }
  } else {
    add_headers(job, {"epilogue_sm90.cuh", "launch_sm90.cuh"});
  }
  round_each_step(job, gemm);
  return job;
}

CompileJob kernel_job(const Attention& attention, const AttentionConfiguration& c,
                      const Target& target) {
  CompileJob job = cutlass_job(
      kernel_symbol(attention, c), kernel_source(attention, c), target,
      {"attention.h", "gemm.h", "launch.cuh", "attention_masks.cuh", template_header(c).text()});
  if (c.schedule == AttentionSchedule::kMultistage) {
    add_headers(job, {"attention_products_sm80.cuh", "launch_sm80.cuh"});
  } else {
    add_headers(job, {"launch_sm90.cuh"});
  }
  return job;
}

CompileJob measure_job(const Gemm& gemm, const Target& target) {
  CompileJob job = contest_job(measure_source(gemm), target);
  add_headers(job, {"gemm.h", "measure_gemm.h", "host_device.h", "measure_window.h",
                    "measure_reference.cuh", "measure_gemm.cuh"});
  round_each_step(job, gemm);
  return job;
}

CompileJob measure_job(const Attention& attention, const Target& target) {
  CompileJob job = contest_job(measure_source(attention), target);
  add_headers(job, {"attention.h", "measure_attention.h", "measure_attention.cuh"});
  return job;
}

CompileJob table_job(Source source) {
  CompileJob job{"cutlass_table", std::move(source), "cc", {"-O1"}, {}, {}};
  add_headers(job, {"attention.h", "gemm.h", "measure_attention.h", "measure_gemm.h"});
  return job;
}

CompileJob regions_job(Source source, const Target& target) {
  CompileJob job{"cutlass_regions", std::move(source), "cc", {"-O2"}, {}, {}};
  apply_options(job, target);
  add_headers(job, {"attention.h", "gemm.h", "region.h"});
  return job;
}

}  // namespace tessera::backends::cutlass
