// SPDX-License-Identifier: Apache-2.0
// Kernels that do nothing but multiply, in PTX, which the driver compiles for the GPU that it
// finds: the rates of an architecture are not those of the one that a library was compiled for.
#pragma once

#include <cstdint>

#include "runtime/device.h"

namespace tessera::runtime::cuda {

// As runtime/device.h says.
std::int32_t create_products(void** products, tessera_device_error* error);
void destroy_products(void* products);
std::int32_t multiply(void* products, std::int32_t of_float16, void* stream, std::uint64_t* flops,
                      tessera_device_error* error);

// Of kernels of these names, which take a number of rounds and memory for what is never written.
extern const char kProductsPtx[];
extern const char kFloat32Products[], kFloat16Products[];

}  // namespace tessera::runtime::cuda
