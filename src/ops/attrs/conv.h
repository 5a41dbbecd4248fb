// SPDX-License-Identifier: Apache-2.0
// Attributes of convolutions of one to three spatial dimensions: one struct for the code that reads
// them, one for each rank with Relay's defaults.
#pragma once

#include "relay/attributes.h"

namespace tessera::ops {

struct ConvAttrs {
  std::vector<std::int64_t> strides;
  std::vector<std::int64_t>
      padding;  // one for all, one a dimension, or all begins and then all ends
  std::vector<std::int64_t> dilation;
  std::int64_t groups = 1;
  std::optional<std::int64_t> channels;
  std::optional<std::vector<std::int64_t>> kernel_size;
  std::string data_layout, kernel_layout, out_layout;  // out_layout "": data_layout
  std::optional<DType> out_dtype;
  std::vector<std::int64_t> output_padding;  // of transposed convolutions

 protected:
  ConvAttrs(std::size_t spatial, std::string data, std::string kernel)
      : strides(spatial, 1),
        padding(spatial, 0),
        dilation(spatial, 1),
        data_layout(std::move(data)),
        kernel_layout(std::move(kernel)),
        output_padding(spatial, 0) {}
};

namespace detail {
template <class S, class T>
constexpr relay::AttrMember<S, T> inherited(const char* name, T ConvAttrs::*member) {
  return {name, member, false, {}};
}
template <class S>
constexpr auto conv_fields() {
  return std::tuple{inherited<S>("strides", &ConvAttrs::strides),
                    inherited<S>("padding", &ConvAttrs::padding),
                    inherited<S>("dilation", &ConvAttrs::dilation),
                    inherited<S>("groups", &ConvAttrs::groups),
                    inherited<S>("channels", &ConvAttrs::channels),
                    inherited<S>("kernel_size", &ConvAttrs::kernel_size),
                    inherited<S>("data_layout", &ConvAttrs::data_layout),
                    inherited<S>("kernel_layout", &ConvAttrs::kernel_layout),
                    inherited<S>("out_layout", &ConvAttrs::out_layout),
                    inherited<S>("out_dtype", &ConvAttrs::out_dtype)};
}
template <class S>
constexpr auto conv_transpose_fields() {
  return std::tuple{inherited<S>("channels", &ConvAttrs::channels),
                    inherited<S>("kernel_size", &ConvAttrs::kernel_size),
                    inherited<S>("strides", &ConvAttrs::strides),
                    inherited<S>("output_padding", &ConvAttrs::output_padding),
                    inherited<S>("padding", &ConvAttrs::padding),
                    inherited<S>("dilation", &ConvAttrs::dilation),
                    inherited<S>("groups", &ConvAttrs::groups),
                    inherited<S>("data_layout", &ConvAttrs::data_layout),
                    inherited<S>("kernel_layout", &ConvAttrs::kernel_layout),
                    inherited<S>("out_layout", &ConvAttrs::out_layout),
                    inherited<S>("out_dtype", &ConvAttrs::out_dtype)};
}
}  // namespace detail

struct Conv1DAttrs : ConvAttrs {
  Conv1DAttrs() : ConvAttrs(1, "NCW", "OIW") {}
  static constexpr auto fields = detail::conv_fields<Conv1DAttrs>();
};
struct Conv2DAttrs : ConvAttrs {
  Conv2DAttrs() : ConvAttrs(2, "NCHW", "OIHW") {}
  static constexpr auto fields = detail::conv_fields<Conv2DAttrs>();
};
struct Conv3DAttrs : ConvAttrs {
  Conv3DAttrs() : ConvAttrs(3, "NCDHW", "OIDHW") {}
  static constexpr auto fields = detail::conv_fields<Conv3DAttrs>();
};
// The first two letters of the kernel's layout are Relay's: the weight is (data channels, result
// channels / groups, ...).
struct Conv1DTransposeAttrs : ConvAttrs {
  Conv1DTransposeAttrs() : ConvAttrs(1, "NCW", "OIW") {}
  static constexpr auto fields = detail::conv_transpose_fields<Conv1DTransposeAttrs>();
};
struct Conv2DTransposeAttrs : ConvAttrs {
  Conv2DTransposeAttrs() : ConvAttrs(2, "NCHW", "OIHW") {}
  static constexpr auto fields = detail::conv_transpose_fields<Conv2DTransposeAttrs>();
};
struct Conv3DTransposeAttrs : ConvAttrs {
  Conv3DTransposeAttrs() : ConvAttrs(3, "NCDHW", "OIDHW") {}
  static constexpr auto fields = detail::conv_transpose_fields<Conv3DTransposeAttrs>();
};

}  // namespace tessera::ops
