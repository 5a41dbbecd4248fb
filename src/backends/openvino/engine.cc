// SPDX-License-Identifier: Apache-2.0
#include "backends/openvino/engine.h"

#include <fmt/format.h>

#include "backends/openvino/export_files.h"
#include "support/child.h"

namespace tessera::backends::openvino {
namespace {

using relay::Refusal;
using relay::refuse;

// What the process leaves behind.
Expected<std::string, Refusal> export_apart(const ExportProcess& process, const IrWriter& graph,
                                            const std::vector<Type>& parameters) {
  const auto folder = TempDir::make("tessera-openvino-");
  if (!folder) return refuse("cannot write {}", folder.error().text());
  if (const auto written = write_request(*folder, graph, parameters); !written) {
    return refuse("cannot write {}", written.error().text());
  }
  const ChildResult child =
      run_program({process.command, "work", "openvino", folder->path()}, process.silence_limit_s);
  if (!child.problem.empty()) return refuse("OpenVINO's process ended: {}", child.problem);
  auto result = read_file(folder->file(kResultFile));
  if (!result || result->empty()) return refuse("OpenVINO's process ended without a word");
  return *std::move(result);
}

// Raised with whatever decides what is exported, and how it is tried: export_graph.cc,
// export_check.cc and the form of the payload.
constexpr int kExportVersion = 1;

Hash128 key_of(const IrWriter& graph, const std::vector<Type>& parameters,
               std::string_view version) {
  std::string all = fmt::format("openvino {} {}\n{}\n{}\n", kExportVersion, version,
                                hash_bytes(graph.bytes()).hex(), graph.has_open_sizes());
  for (const Type& type : parameters) all += to_string(type) + "\n";
  return hash_text(all + graph.xml());
}

// The process's result, or what it was the last time: a refusal may be the machine's, and is asked
// for again.
Expected<std::string, Refusal> exported(const ExportProcess& process, const IrWriter& graph,
                                        const std::vector<Type>& parameters,
                                        std::string_view version) {
  if (process.keeper == nullptr) return export_apart(process, graph, parameters);
  const Hash128 key = key_of(graph, parameters, version);
  if (auto kept = process.keeper->find_made(key); kept && !kept->empty()) return *std::move(kept);
  TESSERA_TRY(std::string result, export_apart(process, graph, parameters));
  const auto said = static_cast<Said>(result.front());
  if (said == Said::kMade || said == Said::kOther) process.keeper->keep_made(key, result);
  return result;
}

}  // namespace

// As OpenVINO likes it best, else in the forms that it exports whole.
Expected<std::string, Refusal> compile_graph(const ExportProcess& process, const WriteGraph& write,
                                             const std::vector<Type>& parameters,
                                             std::string_view version) {
  bool is_known = true;
  for (const bool unfused : {false, true}) {
    IrWriter graph(true, unfused);
    TESSERA_TRY_VOID(write(graph));
    TESSERA_TRY(std::string result, exported(process, graph, parameters, version));
    const auto said = static_cast<Said>(result.front());
    result.erase(0, 1);
    if (said == Said::kMade) return result;
    if (said == Said::kRefused) return refuse("{}", result);
    is_known = is_known && said == Said::kOther;
  }
  if (!is_known) return refuse("what OpenVINO exports of the region cannot be tried with inputs");
  return refuse("what OpenVINO exports of the region computes other numbers than the region");
}

}  // namespace tessera::backends::openvino
