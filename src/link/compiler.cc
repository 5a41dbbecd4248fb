// SPDX-License-Identifier: Apache-2.0
#include "link/compiler.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <span>
#include <sstream>

#include <unistd.h>

namespace tessera::link {
namespace {

constexpr const char* kRemedy =
    "install g++ or clang++, or name a compiler in the environment variable CXX";

// In lower case, as compilers, assemblers, linkers, nvcc and the C library say it.
constexpr const char* kOfTheMachine[] = {
    "no space left on device",
    "disk quota exceeded",
    "file too large",
    "read-only file system",
    "input/output error",
    "too many open files",
    "resource temporarily unavailable",
    "out of memory",
    "out-of-memory",
    "memory exhausted",
    "insufficient memory",
    "cannot allocate memory",
    "memory allocation fail",
    "bad_alloc",
};

// A part of a compiler that a signal ended: as compilers say it of their parts, and we of them.
constexpr const char* kOfSignals[] = {": signal ", "signal terminated", "due to signal",
                                      "terminated with signal", "killed (program"};
// Signals that a source makes a compiler send itself. The others come from outside.
constexpr const char* kOfCrashes[] = {"signal 4 ",     "signal 6 ",          "signal 8 ",
                                      "signal 11 ",    "segmentation fault", "illegal instruction",
                                      "aborted signal"};
// Signals from outside, which shells tell by a word: nvcc runs its parts in one, and says the same
// of itself.
constexpr const char* kWords[] = {"killed", "terminated", "hangup", "interrupt", "bus error"};
// What nvcc's front end says; other compilers say it, too, below what is wrong.
constexpr const char* kOfFrontEnd = ": compilation terminated.";

// "Killed", "nvcc: Terminated" or "sh: line 1: 4711 Killed   cicc ..."?
bool is_told_by_shell(std::string_view text, std::string_view word) {
  const std::size_t at = text.find(word);
  if (at == std::string_view::npos) return false;
  const bool ends = at + word.size() == text.size();
  if (at == 0) return ends;
  const bool follows_number =
      at > 1 && text[at - 1] == ' ' && text[at - 2] >= '0' && text[at - 2] <= '9';
  return follows_number || (ends && text.substr(0, at).ends_with(": "));
}

bool contains_any(std::string_view text, std::span<const char* const> phrases) {
  return std::any_of(phrases.begin(), phrases.end(),
                     [&](const char* phrase) { return text.find(phrase) != text.npos; });
}

bool tells_of_signal(std::string_view text) {
  if (contains_any(text, kOfCrashes)) return false;
  return text.ends_with(kOfFrontEnd) || contains_any(text, kOfSignals) ||
         std::any_of(std::begin(kWords), std::end(kWords),
                     [&](std::string_view word) { return is_told_by_shell(text, word); });
}

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, at);) {
    if (!part.empty()) parts.push_back(part);
  }
  return parts;
}

// A compiler says at once which one it is.
constexpr double kVersionLimitSeconds = 60;

Result<Compiler> identify(std::vector<std::string> command) {
  std::vector<std::string> version = command;
  version.emplace_back("--version");
  ProcessOptions limited;
  limited.time_limit_s = kVersionLimitSeconds;
  const auto ran = run_process(version, limited);
  if (!ran || !ran->ok()) {
    return fail(error(Code::kNoCompiler, nullptr, "`{}` does not run: {}", command[0],
                      ran ? ran->outcome() : ran.error().text())
                    .with_remedy(kRemedy));
  }
  // The compiler follows a launcher, which changes nothing, and precedes flags, which do.
  std::string compiler, flags;
  for (const std::string& word : command) {
    if (word.starts_with('-')) {
      flags += " " + word;
    } else {
      compiler = word;
    }
  }
  std::error_code ignored;
  const auto real = std::filesystem::canonical(compiler, ignored);
  std::string identity = fmt::format("{} [{}{}]", ran->out.substr(0, ran->out.find('\n')),
                                     ignored ? compiler : real.string(), flags);
  return Compiler{std::move(command), std::move(identity)};
}

}  // namespace

std::string find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) return ::access(name.c_str(), X_OK) == 0 ? name : "";
  const char* path = std::getenv("PATH");
  for (const std::string& folder : split(path == nullptr ? "/usr/bin:/bin" : path, ':')) {
    std::string file = folder;
    file.append("/").append(name);
    if (::access(file.c_str(), X_OK) == 0) return file;
  }
  return "";
}

Result<Compiler> find_compiler() {
  const char* set = std::getenv("CXX");
  if (set != nullptr && *set != '\0') {
    std::vector<std::string> command = split(set, ' ');
    if (command.empty()) command.emplace_back(set);
    for (std::string& word : command) {  // a launcher, such as ccache, and the compiler
      if (const std::string file = find_program(word); !file.empty()) word = file;
    }
    if (command[0].find('/') == std::string::npos || find_program(command[0]).empty()) {
      return fail(
          error(Code::kNoCompiler, nullptr, "there is no program `{}`, which CXX names", set)
              .with_remedy(kRemedy));
    }
    return identify(std::move(command));
  }
  for (const char* name : {"c++", "g++", "clang++"}) {
    if (std::string file = find_program(name); !file.empty()) return identify({std::move(file)});
  }
  return fail(error(Code::kNoCompiler, nullptr,
                    "no C++ compiler was found: there is no `c++`, `g++` or `clang++` in PATH")
                  .with_remedy(kRemedy));
}

ProcessOptions in_folder(const std::string& path, double limit_s) {
  constexpr std::string_view kTemporary = "TMPDIR=";
  ProcessOptions options;
  options.cwd = path;
  options.time_limit_s = limit_s;
  std::vector<std::string>& environment = options.environment.emplace();
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (!std::string_view(*entry).starts_with(kTemporary)) environment.emplace_back(*entry);
  }
  environment.push_back(std::string(kTemporary) + std::filesystem::absolute(path).string());
  return options;
}

bool blames_the_machine(std::string_view message) {
  std::string text(message);
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return tells_of_signal(text) || contains_any(text, kOfTheMachine);
}

std::string first_error(const std::string& messages) {
  const std::vector<std::string> lines = split(messages, '\n');
  const auto of_the_machine = std::find_if(lines.begin(), lines.end(), blames_the_machine);
  if (of_the_machine != lines.end()) return *of_the_machine;
  for (const std::string_view mark : {"undefined reference", "error:", "rror"}) {
    for (const std::string& line : lines) {
      if (line.find(mark) != std::string::npos) return line;
    }
  }
  return lines.empty() ? "it gave no message" : lines.back();
}

std::string what_went_wrong(const ProcessResult& ran, const std::string& messages) {
  return ran.signal != 0 || messages.empty() ? ran.outcome() : first_error(messages);
}

}  // namespace tessera::link
