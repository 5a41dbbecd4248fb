// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include <fmt/format.h>

#include "tools/command.h"

namespace tessera::tools {

void add_explain(CLI::App& app, Action& chosen) {
  auto text = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("explain", "Explain the code of a message");
  command->add_option("code", *text, "Code, such as E0203")->required();
  command->callback([&chosen, text] {
    chosen = [text] {
      Code code{};
      if (!find_code(*text, code)) {
        return report(error(Code::kBadOption, {}, "there is no code `{}`", *text)
                          .with_remedy("the code follows `error` in brackets: E0203"));
      }
      show("{}: {}\n", code_text(code), code_explanation(code));
      return static_cast<int>(kDone);
    };
  });
}

}  // namespace tessera::tools
