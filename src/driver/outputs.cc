// SPDX-License-Identifier: Apache-2.0
#include "driver/outputs.h"

#include <filesystem>
#include <vector>

#include "link/link_library.h"

namespace tessera::driver {
namespace {

bool is_same_file(const std::string& a, const std::string& b) {
  std::error_code ignored;
  const auto path = std::filesystem::weakly_canonical(std::filesystem::absolute(a), ignored);
  return path == std::filesystem::weakly_canonical(std::filesystem::absolute(b), ignored) ||
         std::filesystem::equivalent(a, b, ignored);
}

}  // namespace

Result<void> check_outputs(const CompileOptions& options) {
  struct File {
    const char* what;
    const std::string& name;
    const char* option;
  };
  std::vector<File> taken = {{"model", options.model, ""}};
  for (const File& file :
       {File{"library", options.output, "-o"}, File{"report", options.report, "--report"},
        File{"rule", options.depfile, "--depfile"}}) {
    if (file.name.empty()) continue;
    for (const File& other : taken) {
      if (!is_same_file(other.name, file.name)) continue;
      return fail(error(Code::kFileNotWritable, {}, "`{}` is the {} itself", file.name, other.what)
                      .with_remedy(fmt::format("choose another file for {}", file.option)));
    }
    TESSERA_TRY_VOID(link::check_output(file.name));
    taken.push_back(file);
  }
  return {};
}

}  // namespace tessera::driver
