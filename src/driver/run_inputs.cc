// SPDX-License-Identifier: Apache-2.0
#include "driver/run_inputs.h"

#include "driver/dimensions.h"

namespace tessera::driver {
namespace {

Tensor zeros_like(const Tensor& t) {
  const std::vector<std::int64_t> zeros(static_cast<std::size_t>(t.num_elements()));
  return tensor_from_ints(t.shape, t.dtype, zeros);
}

}  // namespace

Result<RunInputs> run_with_random_inputs(exec::Session& session, const Lowered& lowered) {
  const std::vector<std::vector<std::int64_t>> shapes =
      likely_input_shapes(lowered.module.prim_funcs.at("main"), lowered.module.symbols);
  RunInputs out;
  for (exec::PortInfo port : session.inputs()) {
    port.shape = shapes[out.inputs.size()];
    out.inputs.push_back(exec::random_input(port, out.inputs.size()));
  }
  Result<std::vector<Tensor>> ran = session.run(out.inputs);
  if (!ran && ran.error().list.front().code == Code::kIndexOutOfRange) {
    for (Tensor& t : out.inputs) {
      if (t.dtype.is_int()) t = zeros_like(t);
    }
    ran = session.run(out.inputs);
  }
  TESSERA_TRY(out.outputs, std::move(ran));
  return out;
}

}  // namespace tessera::driver
