// SPDX-License-Identifier: Apache-2.0
#include "driver/outputs.h"

#include <filesystem>

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
  if (is_same_file(options.model, options.output)) {
    return fail(error(Code::kFileNotWritable, {}, "`{}` is the model itself", options.output)
                    .with_remedy("give the library another name with -o"));
  }
  TESSERA_TRY_VOID(link::check_output(options.output));
  if (options.report.empty()) return {};
  for (const std::string* other : {&options.model, &options.output}) {
    if (!is_same_file(*other, options.report)) continue;
    return fail(error(Code::kFileNotWritable, {}, "`{}` is the {} itself", options.report,
                      other == &options.model ? "model" : "library")
                    .with_remedy("choose another file for --report"));
  }
  return link::check_output(options.report);
}

}  // namespace tessera::driver
