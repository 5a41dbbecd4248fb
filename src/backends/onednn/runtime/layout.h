// SPDX-License-Identifier: Apache-2.0
// Memory descriptors: making them, and naming a layout so that it can be written down.
#pragma once

#include "backends/onednn/runtime/api.h"
#include "backends/onednn/runtime/spec.h"

namespace tessera::backends::onednn {

// Null on failure (of a call that only lack of memory can fail).
dnnl_memory_desc_t make_strided(const Api& api, const Dims& dims, dnnl_data_type_t dtype,
                                const Dims& strides);
dnnl_memory_desc_t make_plain(const Api& api, const Dims& dims, dnnl_data_type_t dtype);
dnnl_memory_desc_t make_any(const Api& api, const Dims& dims, dnnl_data_type_t dtype);
dnnl_memory_desc_t make_tagged(const Api& api, const Dims& dims, dnnl_data_type_t dtype, int tag);

// The layout of an image or signal with so many channels (16, 8 or 1) innermost; null
// for other ranks.
dnnl_memory_desc_t make_blocked(const Api& api, const Dims& dims, dnnl_data_type_t dtype,
                                int channels);

// With all channels innermost; null for other ranks.
dnnl_memory_desc_t make_channels_last(const Api& api, const Dims& dims, dnnl_data_type_t dtype);

Dims row_major(const Dims& dims);

// False: not a layout of numbers alone.
[[nodiscard]] bool dims_of(const Api& api, const_dnnl_memory_desc_t desc, Dims* dims);
dnnl_data_type_t data_type_of(const Api& api, const_dnnl_memory_desc_t desc);

// The first of oneDNN's named layouts that gives `desc`, or -1: with (dims, tag) the layout can be
// told to another process, on another machine.
int find_tag(const Api& api, const_dnnl_memory_desc_t desc);

std::uint64_t size_bytes(const Api& api, const_dnnl_memory_desc_t desc);

}  // namespace tessera::backends::onednn
