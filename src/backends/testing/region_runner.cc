// SPDX-License-Identifier: Apache-2.0
#include "backends/testing/region_runner.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <filesystem>
#include <stdexcept>

#include "backends/table.h"
#include "lower/testing/kernel_run.h"
#include "ops/evaluation/evaluate_function.h"
#include "support/check.h"

namespace tessera::backends::testing {
namespace {

using Values = std::vector<Tensor>;

tessera_dtype c_dtype(DType t) { return {static_cast<std::uint8_t>(t.code), t.bits, t.lanes}; }

std::int32_t call_extern(const tessera_frame* frame) {
  const auto& program = *static_cast<const tessera_program*>(frame->context);
  std::vector<tessera_tensor> tensors(frame->input_tensors,
                                      frame->input_tensors + program.input_count);
  tensors.insert(tensors.end(), frame->output_tensors,
                 frame->output_tensors + program.output_count);
  std::vector<tessera_tensor*> pointers;
  for (tessera_tensor& t : tensors) pointers.push_back(&t);
  return program.externs[0].backend_fn(&frame->extern_calls[0], pointers.data(),
                                       static_cast<std::int32_t>(pointers.size()));
}

// Where the back end has its vendor libraries, as tessera_vendor_folders has them.
std::string folders_of(const Artifact& artifact) {
  const byoc::Backend* backend = find_backend(artifact.backend);
  std::string folders;
  for (const std::string& library : artifact.vendor_libraries) {
    folders += std::filesystem::path(backend->library_path(library)).parent_path().string() + '\0';
  }
  return folders + '\0';
}

[[noreturn]] void throw_last_error() { throw std::runtime_error(tessera_last_error()); }

}  // namespace

struct RegionRunner::Program {
  tessera_program c = {};
  std::deque<std::string> names;
  std::deque<std::vector<std::int64_t>> shapes;
  std::vector<tessera_program_io> inputs, outputs;
  std::vector<tessera_program_constant> constants;
  std::vector<const void*> data;
  std::deque<std::vector<std::byte>> aligned;
  std::vector<const char*> constant_names, libraries;
  std::vector<std::int32_t> constant_indices;
  tessera_program_backend backend = {};
  tessera_program_extern symbol = {};
  std::vector<Type> output_types;

  const char* keep(std::string name) { return names.emplace_back(std::move(name)).c_str(); }
  tessera_program_io io(const Type& type, const std::string& name) {
    const auto& shape = shapes.emplace_back(*constant_shape(type.shape()));
    return {keep(name),
            c_dtype(type.dtype()),
            static_cast<std::int32_t>(shape.size()),
            shape.data(),
            nullptr,
            nullptr,
            nullptr,
            0,
            0};
  }
  void add_constant(const NamedConstant& named, const Tensor& tensor) {
    const auto& shape = shapes.emplace_back(tensor.shape);
    const auto bytes = tensor.blob->bytes();
    auto& copy = aligned.emplace_back(bytes.size() + 64);
    const auto address = (reinterpret_cast<std::uintptr_t>(copy.data()) + 63) / 64 * 64;
    std::memcpy(reinterpret_cast<void*>(address), bytes.data(), bytes.size());
    data.push_back(reinterpret_cast<const void*>(address));
    constant_names.push_back(keep(named.name));
    constant_indices.push_back(static_cast<std::int32_t>(constants.size()));
    constants.push_back({keep(named.name), c_dtype(tensor.dtype),
                         static_cast<std::int32_t>(shape.size()), shape.data(), 0, bytes.size()});
  }
};

RegionRunner::RegionRunner(const Module& module, const CompiledModule& code,
                           const std::string& symbol, int threads)
    : program_(std::make_unique<Program>()) {
  const Extern& made = module.externs.at(symbol);
  const Artifact& artifact = module.artifacts.at(static_cast<std::size_t>(made.artifact));
  const bool is_graph = artifact.kind == ArtifactKind::kRuntimeModule;
  Program& p = *program_;
  for (const Type& t : made.inputs)
    p.inputs.push_back(p.io(t, fmt::format("i{}", p.inputs.size())));
  for (const Type& t : made.outputs)
    p.outputs.push_back(p.io(t, fmt::format("o{}", p.outputs.size())));
  p.output_types = made.outputs;
  for (const NamedConstant& c : artifact.constants) p.add_constant(c, module.constants[c.index]);
  for (const std::string& library : artifact.vendor_libraries)
    p.libraries.push_back(p.keep(library));
  using Create = tessera_state_create_fn;
  using Destroy = tessera_state_destroy_fn;
  const StateFunctions& state = artifact.state;
  p.backend = {p.keep(artifact.backend),
               p.libraries.data(),
               static_cast<std::int32_t>(p.libraries.size()),
               code.function<Create>(state.create_library),
               code.function<Destroy>(state.destroy_library),
               code.function<Create>(state.create_instance),
               code.function<Destroy>(state.destroy_instance)};
  p.symbol = {p.keep(symbol),
              0,
              code.function<tessera_backend_fn>(is_graph ? artifact.run_function : symbol),
              nullptr,
              code.function<Create>(state.create_call_site),
              code.function<Destroy>(state.destroy_call_site),
              is_graph ? p.keep(artifact.payload) : nullptr,
              is_graph ? artifact.payload.size() : 0,
              p.constant_names.data(),
              p.constant_indices.data(),
              static_cast<std::int32_t>(p.constant_names.size()),
              -1,
              0,
              static_cast<std::uint64_t>(made.workspace.bytes),
              nullptr,
              nullptr,
              1,
              nullptr};
  p.c.program_version = TESSERA_PROGRAM_VERSION;
  p.c.abi_version = TESSERA_ABI_VERSION;
  p.c.build_id = p.c.target = "test";
  p.c.cpu_arch = tessera_host_arch();
  p.c.device = {TESSERA_CPU, 0};
  p.c.inputs = p.inputs.data();
  p.c.input_count = static_cast<std::int32_t>(p.inputs.size());
  p.c.outputs = p.outputs.data();
  p.c.output_count = static_cast<std::int32_t>(p.outputs.size());
  p.c.constants = p.constants.data();
  p.c.constant_count = static_cast<std::int32_t>(p.constants.size());
  p.c.constant_data = p.data.data();
  p.c.backends = &p.backend;
  p.c.backend_count = 1;
  p.c.externs = &p.symbol;
  p.c.extern_count = 1;
  p.c.entry = call_extern;
  p.c.context = &p.c;
  const std::string folders = folders_of(artifact);
  if (tessera_model_create_from(&p.c, {nullptr, folders.c_str()}, nullptr, &model_) != 0)
    throw_last_error();
  tessera_instance_options options = TESSERA_INSTANCE_OPTIONS_INIT;
  options.threads = threads;
  if (tessera_instance_create(model_, &options, &instance_) != 0) {
    tessera_model_destroy(model_);
    throw_last_error();
  }
}

RegionRunner::~RegionRunner() {
  tessera_instance_destroy(instance_);
  tessera_model_destroy(model_);
}

Values RegionRunner::run(const Values& inputs) {
  std::vector<tessera_tensor> in, out(program_->outputs.size(), tessera_tensor{});
  for (const Tensor& t : inputs) {
    in.push_back({const_cast<std::byte*>(t.blob->aligned_bytes(64).data()),
                  {TESSERA_CPU, 0},
                  static_cast<std::int32_t>(t.shape.size()),
                  c_dtype(t.dtype),
                  const_cast<std::int64_t*>(t.shape.data()),
                  nullptr,
                  0});
  }
  if (tessera_instance_run(instance_, in.data(), static_cast<std::int32_t>(in.size()), out.data(),
                           static_cast<std::int32_t>(out.size())) != 0) {
    throw_last_error();
  }
  Values results;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const Type& type = program_->output_types[i];
    const std::vector<std::int64_t> shape = *constant_shape(type.shape());
    std::size_t size = static_cast<std::size_t>(type.dtype().size_bytes());
    for (const std::int64_t d : shape) size *= static_cast<std::size_t>(d);
    const auto* bytes = static_cast<const std::byte*>(out[i].data);
    results.emplace_back(shape, type.dtype(), Blob::copy_of({bytes, size}));
  }
  return results;
}

Values run_function(const Module& module, const CompiledModule& code, const std::string& name,
                    const Values& inputs, int threads) {
  const auto region = [&](const std::string& symbol,
                          std::span<const Tensor> arguments) -> std::optional<Values> {
    if (!module.externs.contains(symbol)) return std::nullopt;
    const Values values(arguments.begin(), arguments.end());
    const auto loops = module.prim_funcs.find(symbol);
    if (loops != module.prim_funcs.end()) return lower::testing::interpreted(loops->second, values);
    return RegionRunner(module, code, symbol, threads).run(values);
  };
  return ops::evaluate(module, module.functions.at(name), inputs, region);
}

}  // namespace tessera::backends::testing
