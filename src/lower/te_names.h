// SPDX-License-Identifier: Apache-2.0
// Names of what lower-te makes: the module's name, then the operators (relay-spec 7.4, 7.5).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tessera::lower {

// `test_fused_nn_dense_add`; not unique yet. Longer ones than 80 characters end in a hash instead.
std::string fused_name(std::string_view module_name, const std::vector<std::string>& operators);
// `test_shape_func_add`
std::string shape_function_name(std::string_view module_name,
                                const std::vector<std::string>& operators);

}  // namespace tessera::lower
