// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <filesystem>

#include <fmt/format.h>

#include "constants/npy.h"
#include "support/visible_text.h"
#include "tools/session.h"

namespace tessera::tools {
namespace {

struct RunArgs {
  ModelOptionTexts model;
  std::string inputs, outputs;
  int threads = 0;
};

std::string statistics(const Tensor& t) {
  double sum = 0, most = 0;
  const std::int64_t n = t.num_elements();
  std::int64_t nans = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const double v = element_as_double(t, i);
    if (std::isnan(v)) {
      ++nans;
      continue;
    }
    sum += v;
    most = std::max(most, std::abs(v));
  }
  const std::int64_t numbers = n - nans;
  const std::string of_them = nans == 0 ? "" : fmt::format("; {} of {} are NaN", nans, n);
  return fmt::format("mean {:.6g}, largest magnitude {:.6g}{}",
                     numbers == 0 ? 0.0 : sum / static_cast<double>(numbers), most, of_them);
}

Result<void> make_folder(const std::string& path) {
  std::error_code problem;
  if (!path.empty()) std::filesystem::create_directories(path, problem);
  if (!problem) return {};
  return fail(
      error(Code::kFileNotWritable, {}, "cannot make the folder `{}`: {}", path, problem.message())
          .with_remedy("choose another folder for --outputs"));
}

Result<void> run(const RunArgs& args) {
  TESSERA_TRY(std::unique_ptr<exec::Session> session,
              open_session(args.model, {args.threads, false}));
  TESSERA_TRY(const std::vector<Tensor> inputs, read_inputs(*session, args.inputs));
  TESSERA_TRY(const std::vector<Tensor> outputs, session->run(inputs));
  TESSERA_TRY_VOID(make_folder(args.outputs));
  const std::vector<std::string> files = npy_files(args.outputs, session->outputs());
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const std::string& name = session->outputs()[i].name;
    show("{}: {}  {}\n", visible(name), to_string(outputs[i].type()), statistics(outputs[i]));
    if (!args.outputs.empty()) {
      TESSERA_TRY_VOID(write_npy(files[i], outputs[i]));
    }
  }
  return {};
}

}  // namespace

void add_run(CLI::App& app, Action& chosen) {
  auto args = std::make_shared<RunArgs>();
  CLI::App* command =
      app.add_subcommand("run", "Run a compiled library, or a model in this process");
  command->add_option("model", args->model.options.model, "Library (.so) or model")->required();
  command->add_option("--inputs", args->inputs,
                      "Folder of NAME.npy; inputs without a file are random, kept weights without "
                      "one as compiled");
  command->add_option("--outputs", args->outputs, "Folder to write NAME.npy to");
  command->add_option("--threads", args->threads, "Threads of the instance (0: one a CPU)");
  add_model_options(*command, args->model);
  command->callback([&chosen, args] {
    chosen = [args] {
      const Result<void> done = run(*args);
      return done ? static_cast<int>(kDone) : report(done.error());
    };
  });
}

}  // namespace tessera::tools
