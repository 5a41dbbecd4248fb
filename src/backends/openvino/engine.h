// SPDX-License-Identifier: Apache-2.0
// A graph, compiled and exported by OpenVINO. That is done in a process of its own for each: what
// is exported has the numbers of all nodes that a process ever made in it, and shall be the same
// whatever was compiled before; and a graph that crashes the library, or hangs in it, costs itself.
#pragma once

#include <functional>
#include <string>

#include "backends/openvino/ir_writer.h"
#include "relay/patterns/refuse.h"

namespace tessera::backends::openvino {

using WriteGraph = std::function<Expected<void, relay::Refusal>(IrWriter&)>;

// The payload of a runtime module, as runtime/call_site.cc reads it, of a graph with parameters of
// these types. The graph is written in the other process, too, whose memory takes the constants.
// What is exported is imported there again, and must compute the same (export_check.h). Needs the
// library.
Expected<std::string, relay::Refusal> compile_graph(const WriteGraph& write,
                                                    const std::vector<Type>& parameters);

}  // namespace tessera::backends::openvino
