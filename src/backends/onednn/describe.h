// SPDX-License-Identifier: Apache-2.0
// From a match to the kernel that computes it, or the sentence why there is none. The same function
// answers the pattern's check and generates code, so what is accepted compiles.
#pragma once

#include "backends/onednn/kernel.h"

namespace tessera::backends::onednn {

// Captures: "core", the product or convolution; "activation", the root of one.
// `activation_name` is "" where the pattern has none.
KernelOr describe_matmul(const Subject& subject, std::string_view activation_name);
KernelOr describe_convolution(const Subject& subject, std::string_view activation_name);
KernelOr describe_deconvolution(const Subject& subject, std::string_view activation_name);
// "core" alone: the sums, of casts of integers of eight bits.
KernelOr describe_integer_convolution(const Subject& subject, std::string_view activation_name);
KernelOr describe_integer_product(const Subject& subject, std::string_view activation_name);
// "core": the sum of two tensors of integers of eight bits, dequantised.
KernelOr describe_quantised_sum(const Subject& subject, std::string_view activation_name);

// "core": the operator. "activation" as above.
KernelOr describe_pooling(const Subject& subject, std::string_view activation_name);
// "core": the mean over all of an image, a number for each channel.
KernelOr describe_image_mean(const Subject& subject, std::string_view activation_name);
// "core": the product of an image with a factor for each channel that the model computes.
KernelOr describe_gate(const Subject& subject, std::string_view activation_name);
// "core": the operator, as above.
KernelOr describe_softmax(const Subject& subject, std::string_view activation_name);
KernelOr describe_layer_norm(const Subject& subject, std::string_view activation_name);
KernelOr describe_binary(const Subject& subject, std::string_view activation_name);
KernelOr describe_concat(const Subject& subject, std::string_view activation_name);

}  // namespace tessera::backends::onednn
