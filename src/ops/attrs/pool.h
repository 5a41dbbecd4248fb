// SPDX-License-Identifier: Apache-2.0
// Attributes of pooling over one to three spatial dimensions: one struct for the code that reads
// them, one for each rank with Relay's defaults.
#pragma once

#include "relay/attributes.h"

namespace tessera::ops {

struct PoolAttrs {
  std::vector<std::int64_t> pool_size, strides, dilation;
  std::vector<std::int64_t>
      padding;                     // one for all, one a dimension, or all begins and then all ends
  std::string layout, out_layout;  // out_layout "": layout
  bool ceil_mode = false;
  bool count_include_pad = false;  // of averages

 protected:
  PoolAttrs(std::size_t spatial, std::string data)
      : strides(spatial, 1), dilation(spatial, 1), padding(spatial, 0), layout(std::move(data)) {}
};

namespace detail {
template <class S, class T>
constexpr relay::AttrMember<S, T> pool_field(const char* name, T PoolAttrs::*member,
                                             bool required = false) {
  return {name, member, required, {}};
}
template <class S>
constexpr auto max_pool_fields() {
  return std::tuple{pool_field<S>("pool_size", &PoolAttrs::pool_size, true),
                    pool_field<S>("strides", &PoolAttrs::strides),
                    pool_field<S>("dilation", &PoolAttrs::dilation),
                    pool_field<S>("padding", &PoolAttrs::padding),
                    pool_field<S>("layout", &PoolAttrs::layout),
                    pool_field<S>("out_layout", &PoolAttrs::out_layout),
                    pool_field<S>("ceil_mode", &PoolAttrs::ceil_mode)};
}
}  // namespace detail

template <int kSpatial>
struct MaxPoolAttrs : PoolAttrs {
  MaxPoolAttrs() : PoolAttrs(kSpatial, kSpatial == 1 ? "NCW" : kSpatial == 2 ? "NCHW" : "NCDHW") {}
  static constexpr auto fields = detail::max_pool_fields<MaxPoolAttrs>();
};
template <int kSpatial>
struct AvgPoolAttrs : PoolAttrs {
  AvgPoolAttrs() : PoolAttrs(kSpatial, kSpatial == 1 ? "NCW" : kSpatial == 2 ? "NCHW" : "NCDHW") {}
  static constexpr auto fields =
      std::tuple_cat(detail::max_pool_fields<AvgPoolAttrs>(),
                     std::tuple{detail::pool_field<AvgPoolAttrs>("count_include_pad",
                                                                 &PoolAttrs::count_include_pad)});
};
struct GlobalPool2DAttrs {
  std::string layout = "NCHW", out_layout;
  static constexpr auto fields =
      std::tuple{relay::attr("layout", &GlobalPool2DAttrs::layout),
                 relay::attr("out_layout", &GlobalPool2DAttrs::out_layout)};
};

}  // namespace tessera::ops
