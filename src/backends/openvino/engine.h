// SPDX-License-Identifier: Apache-2.0
// A graph, compiled and exported by OpenVINO. That is done by a process for each, which begins with
// nothing of this one: what is exported has the numbers of all nodes that a process ever made in
// it, and shall be the same whatever was compiled before; and a graph that crashes the library, or
// hangs in it, costs itself, whatever threads and locks this process has.
#pragma once

#include <functional>
#include <string>

#include "backends/openvino/ir_writer.h"
#include "relay/patterns/refuse.h"
#include "toolchain/toolchain.h"

namespace tessera::backends::openvino {

using WriteGraph = std::function<Expected<void, relay::Refusal>(IrWriter&)>;

// Who works.
struct ExportProcess {
  std::string command;  // `tessera`
  // Large models are compiled in some ten seconds.
  double silence_limit_s = 600;
  const Toolchain* keeper = nullptr;  // of what was exported; null: nothing is kept
};

// The payload of a runtime module, as runtime/call_site.cc reads it, of a graph with parameters of
// these types. It goes to the other process in files, constants too. What is exported is imported
// there again, and must compute the same (export_check.h); what did so once is not tried again.
// `version`: the library's, whatever that is of.
Expected<std::string, relay::Refusal> compile_graph(const ExportProcess& process,
                                                    const WriteGraph& write,
                                                    const std::vector<Type>& parameters,
                                                    std::string_view version);

// In the other process.
void export_graph(const std::string& folder);

}  // namespace tessera::backends::openvino
