// SPDX-License-Identifier: Apache-2.0
// Types of less than eight bits and floats of eight: a byte an element, which holds the value of an
// integer and the code of a float.
#pragma once

#include "constants/float8.h"
#include "import/onnx_tensor.h"
#include "import/value.h"

namespace tessera::import {

// Types are ONNX's numbers.
bool is_narrow_float(int type);
// Where there are operators of the type; else null.
const Float8Format* float8_format(int type);
// The values that the bytes of the type stand for: integers as they are, floats as float32.
Value widened(Value bytes, int type);
// The bytes of values: floats are rounded to the nearest, integers lose the bits that do not fit.
// What is too large for a float becomes the largest one if it is to saturate.
Value narrowed(Value x, int type, bool saturate);
// An input whose bytes are widened.
Value wide_input(Node& n, std::size_t i);

}  // namespace tessera::import
