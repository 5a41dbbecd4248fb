// SPDX-License-Identifier: Apache-2.0
#include "driver/run_inputs.h"

#include <fmt/format.h>

#include "ops/evaluation/compare.h"
#include "tune/record_store.h"

namespace tessera::driver {
namespace {

Tensor zeros_like(const Tensor& t) {
  const std::vector<std::int64_t> zeros(static_cast<std::size_t>(t.num_elements()));
  return tensor_from_ints(t.shape, t.dtype, zeros);
}

}  // namespace

Result<RunInputs> run_with_random_inputs(exec::Session& session,
                                         const std::vector<std::vector<std::int64_t>>& shapes) {
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

std::string wrong_numbers(const std::vector<Tensor>& found, const std::vector<Tensor>& wanted,
                          double tolerance, std::string_view whose) {
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const double apart = ops::relative_difference(found[i], wanted[i]);
    if (apart <= (wanted[i].dtype.is_float() ? tolerance : 0)) continue;
    return fmt::format("{}: output {} is {:.2g} off {}", tune::kWrongNumbers, i, apart, whose);
  }
  return "";
}

}  // namespace tessera::driver
