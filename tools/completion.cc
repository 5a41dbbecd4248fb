// SPDX-License-Identifier: Apache-2.0
// What a shell offers after the first letters: made of the commands and options that there are.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/command.h"

namespace tessera::tools {
namespace {

using Names = std::vector<std::string>;

// Those for users.
std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  std::vector<const CLI::App*> commands = app.get_subcommands([](const CLI::App*) { return true; });
  std::erase_if(commands, [](const CLI::App* command) { return command->get_group().empty(); });
  return commands;
}

std::vector<const CLI::Option*> options_of(const CLI::App& command) {
  return command.get_options([](const CLI::Option* o) { return o->nonpositional(); });
}

bool takes_value(const CLI::Option& option) { return option.get_items_expected_max() > 0; }

// As they are typed, dashes included.
Names names_of(const CLI::Option& option) {
  Names names;
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  return names;
}

// Those that CLI::IsMember allows, which says them as `{none,greedy}` alone.
Names values_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const std::size_t begin = type.find('{'), end = type.rfind('}');
  if (begin == std::string::npos || end == std::string::npos || end < begin) return {};
  return CLI::detail::split(type.substr(begin + 1, end - begin - 1), ',');
}

std::string all_names(const CLI::App& command) {
  Names names;
  for (const CLI::Option* option : options_of(command)) {
    const Names own = names_of(*option);
    names.insert(names.end(), own.begin(), own.end());
    if (takes_value(*option)) continue;
    // A flag that may have a value: `--bundle=inside`.
    for (const std::string& value : values_of(*option)) names.push_back(own.back() + "=" + value);
  }
  return fmt::format("{}", fmt::join(names, " "));
}

std::string bash_case(const CLI::App& command) {
  std::string text = fmt::format("    {})\n      options=\"{}\"\n      case \"$previous\" in\n",
                                 command.get_name(), all_names(command));
  Names others;
  for (const CLI::Option* option : options_of(command)) {
    const Names names = names_of(*option), values = values_of(*option);
    if (!values.empty()) {
      text += fmt::format("        {}) values=\"{}\" ;;\n", fmt::join(names, "|"),
                          fmt::join(values, " "));
    } else if (takes_value(*option)) {
      others.insert(others.end(), names.begin(), names.end());
    }
  }
  if (!others.empty()) text += fmt::format("        {}) return ;;\n", fmt::join(others, "|"));
  return text + "      esac ;;\n";
}

// Where nothing is offered, the shell takes names of files. `--x=y` comes as three words, or as
// one.
constexpr const char* kBashHead = R"(_tessera() {
  local word="${COMP_WORDS[COMP_CWORD]}" previous="${COMP_WORDS[COMP_CWORD-1]}"
  local options="" values=""
  COMPREPLY=()
  if [ "$word" = "=" ]; then
    word=""
  elif [ "$previous" = "=" ]; then
    previous="${COMP_WORDS[COMP_CWORD-2]}"
  fi
)";
constexpr const char* kBashTail = R"(  esac
  if [ -n "$values" ] && [ "${word#-}" = "$word" ]; then
    COMPREPLY=($(compgen -W "$values" -- "$word"))
  elif [ "${word#-}" != "$word" ]; then
    COMPREPLY=($(compgen -W "$options" -- "$word"))
  fi
}
complete -o default -F _tessera tessera
)";

std::string bash_text(const CLI::App& app) {
  Names first;
  for (const CLI::App* command : commands_of(app)) first.push_back(command->get_name());
  std::string text = kBashHead;
  text += fmt::format(
      "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
      "    COMPREPLY=($(compgen -W \"{} {}\" -- \"$word\"))\n    return\n  fi\n"
      "  case \"${{COMP_WORDS[1]}}\" in\n",
      fmt::join(first, " "), all_names(app));
  for (const CLI::App* command : commands_of(app)) text += bash_case(*command);
  return text + kBashTail;
}

// zsh runs functions that were written for bash.
std::string zsh_text(const CLI::App& app) {
  return "(( $+functions[compdef] )) || { autoload -U compinit && compinit }\n"
         "autoload -U bashcompinit && bashcompinit\n" +
         bash_text(app);
}

// The first clause, between quotes of fish.
std::string fish_description(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text.substr(0, std::min(text.find(';'), text.find(". ")))) {
    if (c == '\'' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "'";
}

std::string fish_option(const CLI::Option& option, const std::string& condition) {
  std::string text = fmt::format("complete -c tessera -n '{}'", condition);
  for (const std::string& name : option.get_snames()) text += " -s " + name;
  for (const std::string& name : option.get_lnames()) text += " -l " + name;
  const Names values = values_of(option);
  if (!values.empty()) {
    text += fmt::format(" {} -a '{}'", takes_value(option) ? "-x" : "-f", fmt::join(values, " "));
  } else if (takes_value(option)) {
    text += " -r -F";
  }
  return text + " -d " + fish_description(option.get_description()) + "\n";
}

std::string fish_text(const CLI::App& app) {
  std::string text;
  const std::string none = "__fish_use_subcommand";
  for (const CLI::Option* option : options_of(app)) text += fish_option(*option, none);
  for (const CLI::App* command : commands_of(app)) {
    text += fmt::format("complete -c tessera -n {} -f -a {} -d {}\n", none, command->get_name(),
                        fish_description(command->get_description()));
    const std::string own = "__fish_seen_subcommand_from " + command->get_name();
    for (const CLI::Option* option : options_of(*command)) text += fish_option(*option, own);
  }
  return text;
}

}  // namespace

void add_completion(CLI::App& app, Action& chosen) {
  auto shell = std::make_shared<std::string>();
  CLI::App* command =
      app.add_subcommand("completion", "Print what makes a shell complete commands and options");
  command->add_option("shell", *shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  command->callback([&app, &chosen, shell] {
    chosen = [&app, shell] {
      const auto text = *shell == "bash" ? bash_text : *shell == "zsh" ? zsh_text : fish_text;
      show("{}", text(app));
      return static_cast<int>(kDone);
    };
  });
}

}  // namespace tessera::tools
