// SPDX-License-Identifier: Apache-2.0
#include "backends/onednn/runtime/layout.h"

#include <cstring>

namespace tessera::backends::onednn {

dnnl_memory_desc_t make_strided(const Api& api, const Dims& dims, dnnl_data_type_t dtype,
                                const Dims& strides) {
  dnnl_memory_desc_t desc = nullptr;
  api.memory_desc_create_with_strides(&desc, dims.count, dims.at, dtype, strides.at);
  return desc;
}

Dims row_major(const Dims& dims) {
  Dims strides;
  strides.count = dims.count;
  std::int64_t stride = 1;
  for (std::int32_t i = dims.count; i-- > 0;) {
    strides.at[i] = stride;
    stride *= dims.at[i];
  }
  return strides;
}

dnnl_memory_desc_t make_plain(const Api& api, const Dims& dims, dnnl_data_type_t dtype) {
  return make_strided(api, dims, dtype, row_major(dims));
}

dnnl_memory_desc_t make_tagged(const Api& api, const Dims& dims, dnnl_data_type_t dtype, int tag) {
  dnnl_memory_desc_t desc = nullptr;
  const auto status = api.memory_desc_create_with_tag(&desc, dims.count, dims.at, dtype,
                                                      static_cast<dnnl_format_tag_t>(tag));
  return status == dnnl_success ? desc : nullptr;
}

dnnl_memory_desc_t make_any(const Api& api, const Dims& dims, dnnl_data_type_t dtype) {
  return make_tagged(api, dims, dtype, dnnl_format_tag_any);
}

dnnl_memory_desc_t make_blocked(const Api& api, const Dims& dims, dnnl_data_type_t dtype,
                                int channels) {
  if (channels == 1) return make_plain(api, dims, dtype);
  const bool is_wide = channels == 16;
  switch (dims.count) {
    case 3:
      return make_tagged(api, dims, dtype, is_wide ? dnnl_aBc16b : dnnl_aBc8b);
    case 4:
      return make_tagged(api, dims, dtype, is_wide ? dnnl_aBcd16b : dnnl_aBcd8b);
    case 5:
      return make_tagged(api, dims, dtype, is_wide ? dnnl_aBcde16b : dnnl_aBcde8b);
    default:
      return nullptr;
  }
}

dnnl_memory_desc_t make_channels_last(const Api& api, const Dims& dims, dnnl_data_type_t dtype) {
  if (dims.count < 3 || dims.count > 5) return nullptr;
  return make_tagged(api, dims, dtype,
                     dims.count == 3   ? dnnl_acb
                     : dims.count == 4 ? dnnl_acdb
                                       : dnnl_acdeb);
}

bool dims_of(const Api& api, const_dnnl_memory_desc_t desc, Dims* dims) {
  const dnnl_dims_t* sizes = nullptr;
  if (api.memory_desc_query(desc, dnnl_query_ndims_s32, &dims->count) != dnnl_success ||
      api.memory_desc_query(desc, dnnl_query_dims, &sizes) != dnnl_success) {
    return false;
  }
  std::memcpy(dims->at, *sizes, sizeof(dnnl_dims_t));
  return true;
}

dnnl_data_type_t data_type_of(const Api& api, const_dnnl_memory_desc_t desc) {
  dnnl_data_type_t dtype = dnnl_data_type_undef;
  api.memory_desc_query(desc, dnnl_query_data_type, &dtype);
  return dtype;
}

int find_tag(const Api& api, const_dnnl_memory_desc_t desc) {
  Dims dims;
  if (!dims_of(api, desc, &dims)) return -1;
  const dnnl_data_type_t dtype = data_type_of(api, desc);
  for (int tag = dnnl_format_tag_any + 1; tag < dnnl_format_tag_last; ++tag) {
    dnnl_memory_desc_t candidate = make_tagged(api, dims, dtype, tag);
    if (candidate == nullptr) continue;  // of another rank
    const bool equal = api.memory_desc_equal(candidate, desc) != 0;
    api.memory_desc_destroy(candidate);
    if (equal) return tag;
  }
  return -1;
}

std::uint64_t size_bytes(const Api& api, const_dnnl_memory_desc_t desc) {
  return api.memory_desc_get_size(desc);
}

}  // namespace tessera::backends::onednn
