// SPDX-License-Identifier: Apache-2.0
#include "exec/entry_tables.h"

#include "plan/device.h"
#include "plan/symbol_text.h"

namespace tessera::exec {
namespace {

std::int32_t size_of(const auto& list) { return static_cast<std::int32_t>(list.size()); }

}  // namespace

EntryTables::EntryTables(const tir::PrimFunc& entry, const plan::MemoryPlan& plan,
                         const SymbolTable& symbols, std::span<const KeptWeight> kept,
                         const tessera_program& library)
    : externs_(library.externs, library.externs + library.extern_count), plan_(plan) {
  const tir::Bounds bounds = plan::dim_bounds(entry, symbols);
  names_.reserve(entry.dims.size());
  for (const tir::Expr& dim : entry.dims) {
    const plan::ProgramSymbol s = plan::program_symbol(dim, symbols);
    symbols_.push_back(
        {names_.emplace_back(plan::name_in_model(entry, s.name)).c_str(), s.min, s.max, s.step});
  }
  ports_.reserve(entry.inputs.size() + entry.outputs.size());
  const auto io = [&](const tir::Buffer& b) -> tessera_program_io {
    const plan::PortShape& port = ports_.emplace_back(plan::port_shape(*b, entry.dims, bounds));
    const tessera_dtype dtype = {static_cast<std::uint8_t>(b->dtype.code), b->dtype.bits,
                                 b->dtype.lanes};
    const std::int64_t* shape = port.shape.data();
    const std::int32_t on_host = tir::is_on_host(b) ? 1 : 0;
    if (!port.is_dynamic) {
      return {b->name.c_str(), dtype, size_of(port.shape), shape, nullptr, nullptr, nullptr, 0,
              on_host};
    }
    return {b->name.c_str(), dtype,           size_of(port.shape), shape,
            port.min.data(), port.max.data(), port.symbols.data(), 0,
            on_host};
  };
  for (const tir::Buffer& b : entry.inputs) inputs_.push_back(io(b));
  for (const plan::ResultPort& p : plan::result_ports(entry)) outputs_.push_back(io(p.buffer));
  add_places(entry, kept.size());
  for (const KeptWeight& weight : kept) {
    kept_.push_back(static_cast<std::int32_t>(weight.value.index()));
  }
  for (const plan::Pool& p : plan_.pools) {
    pools_.push_back({p.name.c_str(),
                      {is_on_host(p.space) ? TESSERA_CPU : TESSERA_CUDA, p.space.index},
                      static_cast<std::uint64_t>(p.bytes),
                      static_cast<std::uint32_t>(p.align_bytes)});
  }
  for (tessera_program_extern& e : externs_) {
    e.workspace_pool = -1;
    const auto dims = plan_.workspace_dims.find(e.symbol);
    if (dims != plan_.workspace_dims.end()) e.workspace_max_dims = dims->second.data();
    const auto at = plan_.workspaces.find(e.symbol);
    if (at == plan_.workspaces.end()) continue;
    e.workspace_pool = at->second.pool;
    e.workspace_offset = static_cast<std::uint64_t>(at->second.offset);
  }
}

void EntryTables::add_places(const tir::PrimFunc& entry, std::size_t kept) {
  if (plan_.ports.empty()) return;
  const auto add = [&](const tir::Buffer& b) {
    const plan::PortPlace& place = plan_.ports.at(b.get());
    places_.push_back({place.at.pool, static_cast<std::uint64_t>(place.at.offset),
                       static_cast<std::uint64_t>(place.bytes)});
  };
  const std::span<const tir::Buffer> inputs = entry.inputs;
  for (const tir::Buffer& b : inputs.first(inputs.size() - kept)) add(b);
  for (const plan::ResultPort& p : plan::result_ports(entry)) add(p.buffer);
}

void EntryTables::put_into(tessera_program& program) const {
  program.inputs = inputs_.data();
  program.input_count = size_of(inputs_) - size_of(kept_);
  program.kept_weights = kept_.data();
  program.kept_weight_count = size_of(kept_);
  program.outputs = outputs_.data();
  program.output_count = size_of(outputs_);
  program.pools = pools_.data();
  program.pool_count = size_of(pools_);
  program.externs = externs_.data();
  program.symbols = symbols_.data();
  program.symbol_count = size_of(symbols_);
  program.heap_count = plan_.heap_count;
  program.places = places_.empty() ? nullptr : places_.data();
}

}  // namespace tessera::exec
