// SPDX-License-Identifier: Apache-2.0
#include "backends/openvino/export_files.h"

#include <sstream>

#include <fmt/format.h>

#include "backends/openvino/export_check.h"

namespace tessera::backends::openvino {

FileResult<void> write_request(const TempDir& folder, const IrWriter& graph,
                               const std::vector<Type>& parameters) {
  // Whether sizes are open, then a parameter a line.
  std::string inputs = graph.has_open_sizes() ? "open\n" : "known\n";
  for (const Type& given : parameters) {
    const Type type = made_up_type(given);
    inputs += to_string(type.dtype());
    for (const Dim& d : type.shape()) inputs += fmt::format(" {}", d.constant());
    inputs += "\n";
  }
  TESSERA_TRY_VOID(write_atomically(folder.file(kGraphFile), graph.xml()));
  TESSERA_TRY_VOID(
      write_atomically(folder.file(kBytesFile), [&](FileWriter& file) -> FileResult<void> {
        file.write(graph.bytes());
        return {};
      }));
  return write_atomically(folder.file(kInputsFile), inputs);
}

FileResult<Request> read_request(const std::string& folder) {
  const auto path = [&](std::string_view name) { return fmt::format("{}/{}", folder, name); };
  TESSERA_TRY(std::string xml, read_file(path(kGraphFile)));
  TESSERA_TRY(MappedFile bytes, MappedFile::open(path(kBytesFile)));
  TESSERA_TRY(const std::string inputs, read_file(path(kInputsFile)));
  std::istringstream lines(inputs);
  std::string line;
  std::getline(lines, line);
  Request request{std::move(xml), std::move(bytes), line == "open", {}};
  while (std::getline(lines, line)) {
    std::istringstream words(line);
    std::string dtype;
    words >> dtype;
    Shape shape;
    for (std::int64_t size = 0; words >> size;) shape.emplace_back(size);
    request.parameters.push_back(tensor_type(std::move(shape), parse_dtype(dtype).value()));
  }
  return request;
}

}  // namespace tessera::backends::openvino
