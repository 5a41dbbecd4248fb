// SPDX-License-Identifier: Apache-2.0
// What the compiler and the process that has OpenVINO compile a graph tell each other, in files of
// one folder.
#pragma once

#include <string>
#include <vector>

#include "backends/openvino/ir_writer.h"
#include "support/files.h"

namespace tessera::backends::openvino {

// Of the request: the graph's XML, the bytes of its constants, and what it is tried with.
inline constexpr std::string_view kGraphFile = "graph.xml", kBytesFile = "graph.bin",
                                  kInputsFile = "inputs";
inline constexpr std::string_view kResultFile = "result";

// The first letter of the result.
enum class Said : char {
  kMade = '+',     // the payload follows
  kRefused = '-',  // a sentence
  kOther = '~',    // what was exported computes other numbers
  kUntried = '?',  // it does not run with what was made up
};

FileResult<void> write_request(const TempDir& folder, const IrWriter& graph,
                               const std::vector<Type>& parameters);

struct Request {
  std::string xml;
  MappedFile bytes;
  bool has_open_sizes = false;
  std::vector<Type> parameters;  // as far as they are tried
};
FileResult<Request> read_request(const std::string& folder);

}  // namespace tessera::backends::openvino
