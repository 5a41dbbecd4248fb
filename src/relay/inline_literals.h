// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "relay/function.h"

namespace tessera::relay {

// Calls of function literals become their bodies, the inner ones first, and `let`s of literals go.
// `accept`, if given, is asked with each call and what it calls; a call that it does not accept
// stays.
Function inline_literals(const Function& f,
                         const std::function<bool(NodeId call, const Literal&)>& accept = {});

}  // namespace tessera::relay
