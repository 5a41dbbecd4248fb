// SPDX-License-Identifier: Apache-2.0
// tessera_plans MODEL...: what each algorithm's plan of a model's memory takes, one line a model.
#include <CLI/CLI.hpp>

#include "tests/memory/plan_report.h"

int main(int argc, char** argv) {
  std::vector<std::string> models;
  tessera::memory::ReportOptions options;
  CLI::App app("Memory plans of models");
  app.add_option("models", models, "ONNX models or Relay texts")->required();
  app.add_option("--target", options.targets)->allow_extra_args(false);
  app.add_option("--dim", options.dims)->allow_extra_args(false);
  app.add_option("--most", options.most, "The most that a plan may take over the lower bound");
  CLI11_PARSE(app, argc, argv);
  if (options.targets.empty()) options.targets = {"cpu"};
  bool all_good = true;
  for (const std::string& model : models) all_good &= tessera::memory::report_plans(model, options);
  return all_good ? 0 : 1;
}
