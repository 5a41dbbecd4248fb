// SPDX-License-Identifier: Apache-2.0
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <new>
#include <sstream>
#include <string_view>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "support/check.h"
#include "support/closest.h"
#include "support/termination.h"
#include "tools/command.h"
#include "tools/standard_error.h"
#include "tools/work.h"

namespace tessera::tools {
namespace {

constexpr AddCommand kCommands[] = {add_compile,    add_check,   add_tune,     add_records,
                                    add_run,        add_bench,   add_inspect,  add_export_relay,
                                    add_opt,        add_diff,    add_backends, add_explain,
                                    add_completion, add_measure, add_work};

constexpr const char* kEnvironment =
    "Environment:\n"
    "  TESSERA_LIBRARY_PATH  folders of vendor libraries, separated by colons\n"
    "  TESSERA_CACHE_DIR     where compiled objects are kept (~/.cache/tessera)\n"
    "  TESSERA_CACHE_BYTES   about how much is kept, the longest unused going first; 0 is all of "
    "it\n"
    "                        (5000000000)\n"
    "  CXX, CUDA_HOME        the C++ compiler; the folder of CUDA's, whose bin/ has nvcc\n"
    "  TMPDIR                where they work";

// A first argument that is neither an option nor a command.
bool is_no_command(const CLI::App& app, const char* first) {
  std::vector<std::string_view> names;
  const auto commands = app.get_subcommands([](const CLI::App*) { return true; });
  for (const CLI::App* command : commands) {
    if (command->get_name() == first) return false;
    if (command->get_group().empty()) continue;  // it is for this program itself
    names.emplace_back(command->get_name());
  }
  const std::string_view meant = closest(first, names);
  tell("there is no command `{}`{}\nRun with --help for more information.\n", first,
       meant.empty() ? "" : fmt::format(": did you mean `{}`?", meant));
  return true;
}

int run(int argc, char** argv) {
  CLI::App app("tessera compiles a model to one shared library with a C interface");
  app.name("tessera");
  app.set_version_flag("--version", "tessera " TESSERA_VERSION);
  app.require_subcommand(1);
  app.footer(kEnvironment);
  Action chosen;
  for (const AddCommand add : kCommands) add(app, chosen);
  if (argc > 1 && argv[1][0] != '-' && is_no_command(app, argv[1])) return kUsage;
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    std::ostringstream out, err;
    const int code = app.exit(e, out, err);
    print_visible(out.str());
    tell("{}", err.str());
    return code == 0 ? kDone : kUsage;
  }
  return chosen();
}

}  // namespace

int report(const Diagnostics& diagnostics) {
  const bool colour = isatty(STDERR_FILENO) != 0;
  write_standard_error(render(diagnostics, {colour}));
  for (const Diagnostic& d : diagnostics.list) {
    if (d.severity == Severity::kError) return kUserError;
  }
  return kDone;
}

}  // namespace tessera::tools

namespace {

int standard_output_failed(const char* why) {
  return tessera::tools::report(tessera::error(tessera::Code::kFileNotWritable, {},
                                               "cannot write to standard output: {}", why)
                                    .with_remedy("make room where it goes"));
}

int report_bug(const std::exception& e) {
  tessera::tools::tell("tessera: internal error, please report it:\n{}\n", e.what());
  return tessera::tools::kBug;
}

}  // namespace

int main(int argc, char** argv) {
  tessera::tools::occupy_closed_streams();
  tessera::clean_up_when_terminated();
  std::signal(SIGXFSZ, SIG_IGN);  // a limit of file sizes is an error of `write`, which we report
  try {
    const int status = tessera::tools::run(argc, argv);
    // What was printed may still be on its way.
    if (std::fflush(stdout) != 0) return standard_output_failed(std::strerror(errno));
    if (std::ferror(stdout) != 0) return standard_output_failed("a part was lost");
    return status;
  } catch (const std::bad_alloc&) {
    return tessera::tools::report(
        tessera::error(tessera::Code::kBadInput, {},
                       "there is not enough memory for the sizes of this model")
            .with_remedy("give smaller sizes with --dim, or use a machine with more memory"));
  } catch (const std::system_error& e) {
    if (std::ferror(stdout) != 0) return standard_output_failed(e.code().message().c_str());
    return report_bug(e);
  } catch (const std::exception& e) {
    return report_bug(e);
  }
}
