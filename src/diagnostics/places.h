// SPDX-License-Identifier: Apache-2.0
// Locations beside their text form.
#pragma once

#include <string>
#include <vector>

#include "diagnostics/location.h"

namespace tessera {

// to_string() without the file: "7:8", "/encoder/Add". For what is shipped, or is to be equal
// wherever the model lies.
std::string place_in_file(const Location& location);
// The names of the model's nodes that it stands for; what is no node of a model, as to_string().
std::vector<std::string> nodes_of_model(const Location& location);
// Does a part of one stand in the other too?
bool share_a_place(const Location& a, const Location& b);

}  // namespace tessera
