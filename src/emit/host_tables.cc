// SPDX-License-Identifier: Apache-2.0
#include "emit/host_tables.h"

#include <algorithm>
#include <set>
#include <span>

#include "emit/c_text.h"
#include "emit/host_body.h"
#include "emit/host_shapes.h"
#include "emit/payloads.h"
#include "plan/constants.h"
#include "plan/device.h"
#include "plan/sharing.h"
#include "plan/symbol_text.h"
#include "tir/walk.h"
#include "types/gpu_arch.h"
#include "types/target_list.h"

namespace tessera::emit {
namespace {

// Writes the tables of runtime/program.h one after the other, then the program that points at them.
class HostEmitter {
 public:
  HostEmitter(const Module& module, const plan::MemoryPlan& plan, const WeightsLayout& weights,
              const ProgramInfo& info, const std::string& entry, Program program,
              std::size_t num_others)
      : module_(module),
        plan_(plan),
        weights_(weights),
        info_(info),
        program_(program),
        num_others_(num_others) {
    if (!entry.empty()) main_ = &module.prim_funcs.at(entry);
    if (entry == "main") kept_ = module.kept_weights;
    collect();
  }

  Source emit() {
    symbols();
    io_table("inputs", main_ != nullptr ? main_->inputs : std::vector<tir::Buffer>());
    io_table("outputs", outputs());
    shared();
    places();
    pools();
    constants();
    packed();
    kept_weights();
    backends();
    bundled();
    externs();
    entry_or_kernels();
    program();
    return std::move(out_);
  }

 private:
  template <class... A>
  void line(fmt::format_string<A...> text, A&&... args) {
    out_ += source(text, std::forward<A>(args)...);
    out_ += "\n";
  }

  std::set<std::string> called() const {
    std::set<std::string> symbols;
    tir::for_each_node(main_->body, [&](const tir::Stmt& s) {
      if (const auto* call = s.as<tir::CallKernel>()) symbols.insert(call->symbol);
    });
    return symbols;
  }

  void collect() {
    // One of several programs creates the states of what it calls alone.
    const bool has_all = program_ == Program::kOfLibrary;
    const std::set<std::string> wanted = has_all ? std::set<std::string>() : called();
    for (const auto& [symbol, e] : module_.externs) {
      if (e.artifact < 0 || !(has_all || wanted.contains(symbol))) continue;
      extern_index_.emplace(symbol, static_cast<int>(extern_index_.size()));
      if (backend_index_.emplace(e.backend, static_cast<int>(backend_index_.size())).second) {
        backend_names_.push_back(e.backend);
      }
    }
  }

  const Artifact& artifact(const Extern& e) const {
    return module_.artifacts[static_cast<std::size_t>(e.artifact)];
  }

  Source shape_array(const Source& name, const std::vector<std::int64_t>& shape) {
    if (shape.empty()) return Literal("nullptr");
    line("static const int64_t {}[] = {{{}}};", name, fmt::join(shape, ", "));
    return name;
  }

  void symbols() {
    Source rows;
    if (main_ != nullptr) bounds_ = plan::dim_bounds(*main_, module_.symbols);
    for (const tir::Expr& dim : dims()) {
      const plan::ProgramSymbol s = plan::program_symbol(dim, module_.symbols);
      rows += source("    {{{}, {}, {}, {}}},\n", c_string(plan::name_in_model(*main_, s.name)),
                     s.min, s.max, s.step);
    }
    table("tessera_program_symbol", "symbols", rows);
  }

  std::vector<tir::Expr> dims() const {
    return main_ != nullptr ? main_->dims : std::vector<tir::Expr>();
  }

  void io_table(Literal kind, const std::vector<tir::Buffer>& buffers) {
    Source rows;
    for (std::size_t i = 0; i < buffers.size(); ++i) {
      const tir::BufferNode& b = *buffers[i];
      const plan::PortShape port = plan::port_shape(b, dims(), bounds_);
      const Source stem = source("{}_{}", kind, i);
      const Source sizes = shape_array(stem + "_shape", port.shape);
      Source ranges("nullptr, nullptr, nullptr");
      if (port.is_dynamic) {
        shape_array(stem + "_min", port.min);
        shape_array(stem + "_max", port.max);
        line("static const int32_t {}_symbols[] = {{{}}};", stem, fmt::join(port.symbols, ", "));
        ranges = source("{0}_min, {0}_max, {0}_symbols", stem);
      }
      rows += source("    {{{}, {}, {}, {}, {}, 0, {}}},\n", c_string(b.name), c_dtype(b.dtype),
                     port.shape.size(), sizes, ranges, tir::is_on_host(buffers[i]) ? 1 : 0);
    }
    table("tessera_program_io", kind, rows);
  }

  bool has_places() const { return main_ != nullptr && !plan_.ports.empty(); }
  // Of inputs and then outputs.
  void places() {
    if (!has_places()) return;
    Source rows;
    const std::span<const tir::Buffer> inputs = main_->inputs;
    const auto add = [&](const tir::Buffer& b) {
      const plan::PortPlace& place = plan_.ports.at(b.get());
      rows += source("    {{{}, {}, {}}},  // {}\n", place.at.pool, place.at.offset, place.bytes,
                     c_comment(b->name));
    };
    for (const tir::Buffer& b : inputs.first(inputs.size() - num_kept())) add(b);
    for (const tir::Buffer& b : outputs()) add(b);
    table("tessera_program_place", "places", rows);
  }

  // Which inputs' memory each output may have.
  void shared() {
    if (main_ == nullptr) return;
    std::vector<int> begins = {0}, inputs;
    for (const std::vector<int>& of_output :
         plan::shareable_inputs(*main_, module_, main_->inputs.size() - num_kept())) {
      inputs.insert(inputs.end(), of_output.begin(), of_output.end());
      begins.push_back(static_cast<int>(inputs.size()));
    }
    has_shared_ = !inputs.empty();
    if (!has_shared_) return;
    line("static const int32_t shared_begins[] = {{{}}};", fmt::join(begins, ", "));
    line("static const int32_t shared_inputs[] = {{{}}};\n", fmt::join(inputs, ", "));
  }

  std::vector<tir::Buffer> outputs() const {
    std::vector<tir::Buffer> out;
    if (main_ == nullptr) return out;
    for (const plan::ResultPort& p : plan::result_ports(*main_)) out.push_back(p.buffer);
    return out;
  }

  // Empty arrays are not C++; a table without rows is a null pointer.
  void table(Literal type, Literal name, const Source& rows) {
    if (rows.empty()) {
      line("static const {}* const {} = nullptr;\n", type, name);
    } else {
      line("static const {} {}[] = {{\n{}}};\n", type, name, rows);
    }
  }

  // Those of the entry; a kernel library has none.
  std::vector<plan::Pool> used_pools() const {
    return main_ != nullptr ? plan_.pools : std::vector<plan::Pool>();
  }

  void pools() {
    Source rows;
    for (const plan::Pool& p : used_pools()) {
      rows += source("    {{{}, {}, {}, {}}},\n", c_string(p.name), c_device(p.space), p.bytes,
                     p.align_bytes);
    }
    table("tessera_program_pool", "pools", rows);
  }

  void constants() {
    // What only other programs of the library read has no bytes.
    const bool has_all = program_ == Program::kOfLibrary;
    const std::vector<bool> used = has_all ? weights_.used : plan::constants_of(module_, *main_);
    Source rows;
    for (std::size_t i = 0; i < module_.constants.size(); ++i) {
      const Tensor& t = module_.constants[ConstantIndex(i)];
      const Source sizes = shape_array(source("constant_{}_shape", i), t.shape);
      rows += source("    {{\"\", {}, {}, {}, {}u, {}u}},\n", c_dtype(t.dtype), t.shape.size(),
                     sizes, weights_.offsets[i], used[i] ? t.size_bytes() : 0);
    }
    table("tessera_program_constant", "constants", rows);
  }

  void packed() {
    Source rows;
    for (const WeightsLayout::Packed& p : weights_.packed) {
      rows += source("    {{{}u, {}u, {}u, {}u, {}, {}}},\n", p.offset, p.bytes, p.packed_offset,
                     p.packed_bytes, p.element_bytes, p.on_host ? 1 : 0);
    }
    if (rows.empty()) return;
    line("extern \"C\" int32_t tessera_unpack_weights(const tessera_program*,");
    line("    const tessera_unpack_target*, int32_t);");
    table("tessera_program_packed", "packed", rows);
  }

  // The last rows of `inputs`: which constant each is until it is set.
  void kept_weights() {
    std::vector<std::uint32_t> indices;
    for (const KeptWeight& w : kept_) indices.push_back(w.value.index());
    if (num_kept() > 0) {
      line("static const int32_t kept_weights[] = {{{}}};\n", fmt::join(indices, ", "));
    }
  }
  std::size_t num_kept() const { return kept_.size(); }

  void backends() {
    Source rows;
    for (const std::string& name : backend_names_) rows += backend_row(name);
    table("tessera_program_backend", "backends", rows);
  }

  Source backend_row(const std::string& name) {
    std::vector<std::string> libraries;  // in the order in which they are opened
    StateFunctions state;
    for (const Artifact& a : module_.artifacts) {
      if (a.backend != name) continue;
      for (const std::string& file : a.vendor_libraries) {
        if (std::find(libraries.begin(), libraries.end(), file) == libraries.end()) {
          libraries.push_back(file);
        }
      }
      state = a.state;
    }
    Source files("nullptr");
    if (!libraries.empty()) {
      files = c_name(c_identifier(name) + "_libraries");
      std::vector<Source> quoted;
      for (const std::string& l : libraries) quoted.push_back(c_string(l));
      line("static const char* const {}[] = {{{}}};", files, fmt::join(quoted, ", "));
    }
    return source("    {{{}, {}, {}, {}, {}, {}, {}}},\n", c_string(name), files, libraries.size(),
                  or_null(state.create_library), or_null(state.destroy_library),
                  or_null(state.create_instance), or_null(state.destroy_instance));
  }

  void bundled() {
    Source rows;
    for (const auto& [file, bundled] : info_.bundled) {
      rows += source("    {{{}, {}, {}, {}, {}, {}}},\n", c_string(file), c_string(bundled.hash),
                     bundled.offset, bundled.bytes, bundled.packed_bytes,
                     bundled.packed_bytes > 0 ? Literal("tessera_inflate") : "nullptr");
    }
    if (info_.has_packed_files()) {
      line("extern \"C\" int32_t tessera_inflate(const void*, uint64_t, void*, uint64_t);");
    }
    table("tessera_program_bundled", "bundled", rows);
  }

  static Source or_null(const std::string& function) {
    return function.empty() ? Source("nullptr") : c_name(function);
  }

  void externs() {
    Source rows;
    for (const auto& [symbol, index] : extern_index_) rows += extern_row(symbol, index);
    table("tessera_program_extern", "externs", rows);
  }

  Source extern_row(const std::string& symbol, int index) {
    const Extern& e = module_.externs.at(symbol);
    const Artifact& a = artifact(e);
    const bool runtime_module = a.kind == ArtifactKind::kRuntimeModule;
    const bool generated = e.convention == CallingConvention::kGenerated;
    const bool has_payload = runtime_module && !a.payload.empty();
    const auto artifact_index = static_cast<std::size_t>(e.artifact);
    const auto [names, indices] = named_constants(index, a);
    const auto at = plan_.workspaces.find(symbol);
    const bool planned = main_ != nullptr && at != plan_.workspaces.end();
    return source(
        "    {{{}, {}, {}, {}, {}, {}, {}, {}u, {}, {}, {}, {}, {}u, {}u, {}, {}, {}, {}}},\n",
        c_string(symbol), backend_index_.at(e.backend),
        generated ? Source("nullptr") : c_name(runtime_module ? a.run_function : symbol),
        generated ? c_name(symbol) : Source("nullptr"), or_null(a.state.create_call_site),
        or_null(a.state.destroy_call_site),
        has_payload ? c_name(payload_symbol(artifact_index)) : Source("nullptr"),
        has_payload ? a.payload.size() : 0, names, indices, a.constants.size(),
        planned ? at->second.pool : -1, planned ? at->second.offset : 0, e.workspace.bytes,
        or_null(e.workspace.query), largest_dims(symbol, index), e.capture.is_allowed ? 1 : 0,
        or_null(e.capture.query));
  }

  // What its workspace query is given.
  Source largest_dims(const std::string& symbol, int index) {
    const auto dims = plan_.workspace_dims.find(symbol);
    if (dims == plan_.workspace_dims.end()) return Literal("nullptr");
    return shape_array(source("extern_{}_dims", index), dims->second);
  }

  std::pair<Source, Source> named_constants(int index, const Artifact& a) {
    if (a.constants.empty()) return {Literal("nullptr"), Literal("nullptr")};
    std::vector<Source> names;
    std::vector<std::uint32_t> indices;
    for (const NamedConstant& c : a.constants) {
      names.push_back(c_string(c.name));
      indices.push_back(c.index.index());
    }
    line("static const char* const extern_{}_names[] = {{{}}};", index, fmt::join(names, ", "));
    line("static const int32_t extern_{}_indices[] = {{{}}};", index, fmt::join(indices, ", "));
    return {source("extern_{}_names", index), source("extern_{}_indices", index)};
  }

  Target target() const { return compute_target(module_.targets); }
  bool on_device() const { return !is_on_host(compute_space(module_.targets)); }
  static Source c_device(const MemorySpace& space) {
    const Literal kind = is_on_host(space) ? Literal("TESSERA_CPU") : "TESSERA_CUDA";
    return source("{{{}, {}}}", kind, space.index);
  }

  // What a program for a device adds: null and 0 on a cpu.
  Source device_text() const {
    if (!on_device()) return Literal("nullptr, nullptr, 0");
    const bool replayable =
        main_ != nullptr && plan::replay_obstacle(*main_, module_, plan_).empty();
    const Target cuda = target();
    const std::string& arch = cuda.get_string("arch");
    const bool runs_on_later = cuda.get_bool("ptx") && has_ptx_for_later(arch);
    return source("&tessera_cuda_device, {}, {}", c_string(arch + (runs_on_later ? "+ptx" : "")),
                  replayable ? 1 : 0);
  }

  void entry_or_kernels() {
    Source kernels, steps;
    if (main_ != nullptr) {
      HostBody body = emit_host_body(*main_, module_, plan_, extern_index_);
      for (const auto& [kernel, backend] : body.steps) {
        steps += source("    {{{}, {}}},\n", c_string(kernel), c_string(backend));
      }
      num_steps_ = body.steps.size();
      if (!dims().empty()) line("static {}", emit_output_shapes(*main_));
      if (has_input_expressions(*main_)) line("static {}", emit_input_size(*main_));
      line("{}", body.text);
    } else {
      for (const auto& [symbol, e] : module_.externs) {
        if (e.artifact >= 0) continue;
        kernels += source("    {{{}, {}}},\n", c_string(symbol), c_name(symbol));
        ++num_kernels_;
      }
    }
    table("tessera_program_kernel", "kernels", kernels);
    table("tessera_program_step", "steps", steps);
  }

  void program() {
    Source features;
    for (const std::string& f : info_.cpu_features) features += source("{}, ", c_string(f));
    if (!features.empty()) line("static const char* const cpu_features[] = {{{}}};", features);
    const bool model = main_ != nullptr;
    const bool has_metadata = model && program_ == Program::kOfLibrary;
    if (has_metadata)
      line("TESSERA_API const char tessera_metadata[] =\n    {};", c_string(info_.metadata_json));
    line("{} = {{", program_ == Program::kOfLibrary
                        ? Literal("TESSERA_API const tessera_program tessera_model_program")
                        : "static const tessera_program program");
    line("    TESSERA_PROGRAM_VERSION, TESSERA_ABI_VERSION, {}, {}, {},", c_string(info_.build_id),
         c_string(info_.target), c_string(info_.cpu_arch));
    line("    {}, {}, {}, {},", features.empty() ? Literal("nullptr") : "cpu_features",
         info_.cpu_features.size(), c_device(compute_space(module_.targets)),
         has_metadata ? Literal("tessera_metadata") : "nullptr");
    line("    symbols, inputs, outputs, pools, constants, backends, externs, kernels, steps,");
    line("    {}, {}, {}, {}, {}, {}, {}, {}, {}, {},", dims().size(),
         main_ != nullptr ? main_->inputs.size() - num_kept() : 0, outputs().size(),
         used_pools().size(), module_.constants.size(), backend_names_.size(), extern_index_.size(),
         num_kernels_, num_steps_, main_ != nullptr ? plan_.heap_count : 0);
    const bool has_files = std::any_of(info_.bundled.begin(), info_.bundled.end(),
                                       [](const auto& file) { return file.second.bytes > 0; });
    const bool weights = model && (weights_.bytes > 0 || has_files);
    const bool has_expressions = model && has_input_expressions(*main_);
    line("    {}, nullptr, {}, {}, nullptr, {}, {}, {}, {}, bundled, {}, {}, {}{}{}}};",
         weights ? Literal("tessera_weights") : "nullptr",
         dims().empty() ? Literal("nullptr") : "tessera_shapes_of_outputs",
         model ? Literal("tessera_entry") : "nullptr", device_text(),
         has_expressions ? Literal("tessera_size_of_input") : "nullptr",
         num_kept() > 0 ? Literal("kept_weights") : "nullptr", num_kept(), info_.bundled.size(),
         has_shared_ ? Literal("shared_begins, shared_inputs") : "nullptr, nullptr",
         has_places() ? Literal("places") : "nullptr", packed_text(),
         num_others_ > 0 ? source(", others, {}", num_others_) : Source());
  }

  // Left out with what follows it, where that is zero.
  Source packed_text() const {
    if (weights_.packed.empty()) {
      return num_others_ > 0 ? Source(", nullptr, 0, 0, 0, nullptr") : Source();
    }
    return source(",\n    packed, {}, {}u, {}u, tessera_unpack_weights", weights_.packed.size(),
                  weights_.mapped_bytes, weights_.unpacked_bytes);
  }

  const Module& module_;
  const plan::MemoryPlan& plan_;
  const WeightsLayout& weights_;
  const ProgramInfo& info_;
  Program program_;
  std::size_t num_others_;
  const tir::PrimFunc* main_ = nullptr;  // the entry
  std::span<const KeptWeight> kept_;
  tir::Bounds bounds_;  // of its dimensions
  std::map<std::string, int> extern_index_, backend_index_;
  std::vector<std::string> backend_names_;
  std::size_t num_kernels_ = 0, num_steps_ = 0;
  bool has_shared_ = false;
  Source out_;
};

}  // namespace

Source emit_tables(const Module& module, const plan::MemoryPlan& plan, const WeightsLayout& weights,
                   const ProgramInfo& info, const std::string& entry, Program program,
                   std::size_t num_others) {
  return HostEmitter(module, plan, weights, info, entry, program, num_others).emit();
}

}  // namespace tessera::emit
