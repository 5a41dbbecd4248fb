// SPDX-License-Identifier: Apache-2.0
// What a back end, or code for a machine, lacks here.
#pragma once

#include <optional>

#include "byoc/backend.h"
#include "link/object_cache.h"

namespace tessera::driver {

// Its own library or headers, or the CUDA compiler, unless the cache has what one made; nothing: it
// can be used.
std::optional<byoc::Refusal> lack_of(
    const byoc::Backend& backend, const Target& target,
    const link::ObjectCache& cache = link::ObjectCache(link::ObjectCache::default_folder()));
// The same of native code for a GPU.
std::optional<byoc::Refusal> lack_of_cuda();

}  // namespace tessera::driver
