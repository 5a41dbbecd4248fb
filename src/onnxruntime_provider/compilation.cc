// SPDX-License-Identifier: Apache-2.0
#include "onnxruntime_provider/compilation.h"

#include <exception>
#include <filesystem>
#include <sstream>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <nlohmann/json.hpp>

#include "onnxruntime_provider/model_file.h"
#include "support/files.h"
#include "support/subprocess.h"

namespace tessera::onnxruntime_provider {
namespace {

// The errors among the events that `compile --events` prints, a JSON object a line.
Refusal refusal_of(const ProcessResult& process) {
  Refusal refusal;
  std::istringstream lines(process.out);
  for (std::string line; std::getline(lines, line);) {
    const auto event = nlohmann::json::parse(line, nullptr, false);
    if (!event.is_object() || event.value("severity", "") != "error") continue;
    const auto node = node_of_place(event.value("place", ""));
    if (node) refusal.nodes.push_back(*node);
    refusal.reasons += (refusal.reasons.empty() ? "" : "; ") + event.value("code", "") + ": " +
                       event.value("finding", "");
  }
  if (refusal.reasons.empty()) {
    refusal.reasons = "the compiler ended with " + process.outcome() + ": " + process.err;
  }
  return refusal;
}

}  // namespace

Compilation compile(const Ort::ConstGraph& graph, const Options& options) {
  auto made = TempDir::make("tessera-onnxruntime");
  if (!made) throw std::runtime_error(made.error().text());
  TempDir folder = std::move(*made);
  try {
    write_model(graph, folder.path());
  } catch (const std::exception& error) {
    return {nullptr, {{}, error.what()}};
  }
  std::vector<std::string> arguments = {options.command,
                                        "compile",
                                        folder.file("model.onnx"),
                                        "--output",
                                        folder.file("model.so"),
                                        "--events",
                                        "--threads",
                                        std::to_string(options.threads)};
  arguments.insert(arguments.end(), options.arguments.begin(), options.arguments.end());
  const auto process = run_process(arguments);
  if (!process) throw std::runtime_error(process.error().text());
  if (!process->ok()) return {nullptr, refusal_of(*process)};
  // The folder stays as long as the session.
  for (const char* name : {"model.onnx", "weights"}) {
    std::error_code ignored;
    std::filesystem::remove(folder.file(name), ignored);
  }
  return {std::make_shared<CompiledGraph>(std::move(folder), "model.so", options.threads), {}};
}

}  // namespace tessera::onnxruntime_provider
