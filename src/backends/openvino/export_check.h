// SPDX-License-Identifier: Apache-2.0
// Does what OpenVINO exported compute what it compiled? Where a release forgets to write a part of
// an operation down, as 2026.4 does of rotary embeddings, it does not.
#pragma once

#include <string>
#include <vector>

#include "backends/openvino/runtime/api.h"
#include "constants/tensor.h"

namespace tessera::backends::openvino {

enum class Agreement : std::uint8_t {
  kSame,
  kOther,
  kUnknown,  // the compiled model does not run with what was made up
};

// The same type with sizes that are numbers: those that are open are small.
Type made_up_type(const Type& type);
// Random tensors of these types, made so.
std::vector<Tensor> made_up_inputs(const std::vector<Type>& types);

// Imports `exported` and runs both.
Agreement compare_export(const Api& api, ov_core_t* core, const ov_compiled_model_t* compiled,
                         std::string_view exported, const std::vector<Tensor>& inputs);

}  // namespace tessera::backends::openvino
