// SPDX-License-Identifier: Apache-2.0
// `tessera work BACKEND FOLDER`: what back ends start to call a vendor's compiler in a process of
// its own, which it may crash or hang. No command for people: --help does not list it.
#include "tools/work.h"

#include "backends/worker.h"

namespace tessera::tools {
namespace {

int work(const std::string& name, const std::string& folder) {
  const backends::Worker worker = backends::find_worker(name);
  if (worker == nullptr) {
    return report(error(Code::kBackendMissing, {}, "no back end `{}` has work of its own", name)
                      .with_remedy("`tessera compile` starts such processes"));
  }
  worker(folder);
  return kDone;
}

}  // namespace

void add_work(CLI::App& app, Action& chosen) {
  auto name = std::make_shared<std::string>(), folder = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("work", "Compile a part of a model")->group("");
  command->add_option("backend", *name)->required();
  command->add_option("folder", *folder)->required();
  command->callback(
      [name, folder, &chosen] { chosen = [name, folder] { return work(*name, *folder); }; });
}

}  // namespace tessera::tools
