// SPDX-License-Identifier: Apache-2.0
// What the passes over loop functions share: `main` with all that it calls, and the pools of a
// module.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "module/module.h"
#include "plan/pool.h"
#include "tir/walk.h"

namespace tessera::plan {

// The attribute of `main` that has the texts of the module's pools, in order of preference.
inline constexpr const char* kPoolsAttr = "workspace_memory_pools";

// The loop functions that `main` calls, itself included, each after those that it calls. An error
// where there is no `main`.
Result<std::vector<std::string>> called_functions(const Module& module, std::string_view pass);
// Of kPoolsAttr; none where it is missing.
Result<std::vector<Pool>> pools_of(const Module& module);
std::string pools_text(const std::vector<Pool>& pools);

// The block with other buffers in place of those of the map, whose definitions are mapped, too.
// define(d, ...) makes what becomes of a definition; the scope is in it already.
tir::Stmt with_buffers(const tir::Stmt& block, const tir::BufferMap& buffers,
                       const std::function<tir::Stmt(const tir::Stmt&)>& define = {});
// f(buffer) for each buffer that the function allocates in memory that a pool may be; not inside of
// loops whose iterations run at the same time, where one buffer has many places.
void for_each_allocation(const tir::Stmt& body, const std::function<void(const tir::Buffer&)>& f);

}  // namespace tessera::plan
