// SPDX-License-Identifier: Apache-2.0
#include "driver/compile.h"
#include "support/files.h"
#include "tests/onnx_gate/engine.h"

namespace tessera::onnx_gate {
namespace {

// The folder goes when the library is closed.
struct Loaded {
  TempDir folder;
  std::unique_ptr<exec::Session> session;
};

std::vector<Port> ports_of(const std::vector<exec::PortInfo>& infos) {
  std::vector<Port> ports;
  for (const exec::PortInfo& info : infos) ports.push_back({info.name, info.dtype});
  return ports;
}

}  // namespace

Result<Runnable> compiled(const Case& c, const std::vector<Target>& targets) {
  auto folder = TempDir::make("onnx-gate");
  if (!folder) return fail(error(Code::kFileNotWritable, {}, "{}", folder.error().text()));
  driver::CompileOptions options;
  options.model = c.model();
  options.output = folder->file("model.so");
  options.targets = targets;
  if (targets.empty()) options.partition = driver::Partition::kNone;
  options.jobs = 1;
  options.threads = 1;
  TESSERA_TRY(const auto report, driver::compile(options));
  exec::SessionOptions session_options;
  session_options.threads = 1;
  TESSERA_TRY(auto session, exec::Session::open_library(options.output, session_options));
  const auto loaded = std::make_shared<Loaded>(Loaded{std::move(*folder), std::move(session)});
  Runnable r;
  r.inputs = ports_of(loaded->session->inputs());
  r.outputs = ports_of(loaded->session->outputs());
  r.run = [loaded](const std::vector<Tensor>& inputs) { return loaded->session->run(inputs); };
  return r;
}

}  // namespace tessera::onnx_gate
