// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#include "support/files.h"
#include "support/visible_text.h"
#include "tools/command.h"

namespace tessera::tools {

void print_visible(const std::string& text) { fmt::print("{}", visible_lines(text)); }

Result<void> write_output(const std::string& path, const std::string& text) {
  if (path.empty() || path == "-") {
    std::fwrite(text.data(), 1, text.size(), stdout);
    return {};
  }
  if (auto written = write_atomically(path, text); !written) {
    return fail(error(Code::kFileNotWritable, {}, "cannot write {}", written.error().text())
                    .with_remedy("check the folder and its permissions"));
  }
  return {};
}

}  // namespace tessera::tools
