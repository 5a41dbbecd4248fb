// SPDX-License-Identifier: Apache-2.0
#include "exec/entry_tables.h"

#include "support/check.h"
#include "tir/expr_ops.h"

namespace tessera::exec {
namespace {

constexpr std::uint32_t kPoolAlignBytes = 64;

std::int32_t size_of(const auto& list) { return static_cast<std::int32_t>(list.size()); }

}  // namespace

std::vector<std::int64_t> constant_sizes(const tir::BufferNode& buffer) {
  std::vector<std::int64_t> sizes;
  for (const tir::Expr& e : buffer.shape) {
    const std::int64_t* n = tir::as_int(e);
    TESSERA_CHECK(n != nullptr, "`{}` has a dimension that is not a number", buffer.name);
    sizes.push_back(*n);
  }
  return sizes;
}

EntryTables::EntryTables(const tir::PrimFunc& entry, const plan::MemoryPlan& plan,
                         const tessera_program& library)
    : externs_(library.externs, library.externs + library.extern_count), plan_(plan) {
  shapes_.reserve(entry.inputs.size() + entry.outputs.size());
  const auto io = [&](const tir::Buffer& b) -> tessera_program_io {
    const auto& shape = shapes_.emplace_back(constant_sizes(*b));
    const tessera_dtype dtype = {static_cast<std::uint8_t>(b->dtype.code), b->dtype.bits,
                                 b->dtype.lanes};
    return {b->name.c_str(), dtype, size_of(shape), shape.data(), nullptr, nullptr, nullptr, 0};
  };
  for (const tir::Buffer& b : entry.inputs) inputs_.push_back(io(b));
  for (const tir::Buffer& b : entry.outputs) outputs_.push_back(io(b));
  for (const plan::Pool& p : plan_.pools) {
    pools_.push_back(
        {p.name.c_str(), {TESSERA_CPU, 0}, static_cast<std::uint64_t>(p.bytes), kPoolAlignBytes});
  }
  for (tessera_program_extern& e : externs_) {
    e.workspace_pool = -1;
    const auto at = plan_.workspaces.find(e.symbol);
    if (at == plan_.workspaces.end()) continue;
    for (std::size_t i = 0; i < plan_.pools.size(); ++i) {
      if (plan_.pools[i].name == at->second.pool) e.workspace_pool = static_cast<std::int32_t>(i);
    }
    e.workspace_offset = static_cast<std::uint64_t>(at->second.offset);
  }
}

void EntryTables::put_into(tessera_program& program) const {
  program.inputs = inputs_.data();
  program.input_count = size_of(inputs_);
  program.outputs = outputs_.data();
  program.output_count = size_of(outputs_);
  program.pools = pools_.data();
  program.pool_count = size_of(pools_);
  program.externs = externs_.data();
}

}  // namespace tessera::exec
