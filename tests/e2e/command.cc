// SPDX-License-Identifier: Apache-2.0
#include "command.h"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <thread>

#include <fmt/format.h>
#include <poll.h>

namespace tessera::e2e {
namespace {

namespace fs = std::filesystem;

const std::string kCommand = TESSERA_BUILD_DIR "/bin/tessera";

ProcessResult run_or_throw(const std::vector<std::string>& command, const ProcessOptions& options) {
  auto result = run_process(command, options);
  if (!result) throw std::runtime_error(result.error().text());
  return *std::move(result);
}

TempDir make_folder() {
  auto folder = TempDir::make("tessera-e2e");
  if (!folder) throw std::runtime_error(folder.error().text());
  return *std::move(folder);
}

}  // namespace

std::string vendor_folder() {
  return fs::path(TESSERA_PYTHON).parent_path().parent_path().string() + "/lib";
}

Command::Command() : folder_(make_folder()) {
  const char* path = std::getenv("PATH");
  set("PATH", path == nullptr ? "/usr/bin:/bin" : path);
  set("HOME", folder());
  set("TMPDIR", file("tmp"));
  set("TESSERA_CACHE_DIR", file("cache"));
  set("TESSERA_LIBRARY_PATH", vendor_folder());
  fs::create_directories(file("tmp"));
}

std::string Command::write(const std::string& name, const std::string& bytes) const {
  const auto written = write_atomically(file(name), bytes);
  if (!written) throw std::runtime_error(written.error().text());
  return file(name);
}

Command& Command::set(const std::string& variable, const std::string& value) {
  environment_[variable] = value;
  return *this;
}

Command& Command::unset(const std::string& variable) {
  environment_.erase(variable);
  return *this;
}

Command& Command::unset_all() {
  environment_.clear();
  return *this;
}

Command& Command::share_cache() {
  return set("TESSERA_CACHE_DIR", TESSERA_BUILD_DIR "/testdata/cache");
}

ProcessOptions Command::options() const {
  ProcessOptions options;
  options.cwd = folder();
  options.environment.emplace();
  for (const auto& [name, value] : environment_) {
    options.environment->push_back(fmt::format("{}={}", name, value));
  }
  return options;
}

ProcessResult Command::run(std::vector<std::string> arguments) const {
  arguments.insert(arguments.begin(), kCommand);
  return run_or_throw(arguments, options());
}

ProcessResult Command::run_for(double seconds, std::vector<std::string> arguments) const {
  arguments.insert(arguments.begin(), kCommand);
  ProcessOptions limited = options();
  limited.time_limit_s = seconds;
  return run_or_throw(arguments, limited);
}

ProcessResult Command::run_until(const std::function<bool()>& when, int signal,
                                 std::vector<std::string> arguments) const {
  const TempDir folder = make_folder();
  // The shell becomes the command, which has its number.
  std::vector<std::string> command = {"/bin/sh", "-c", "echo $$ > \"$0\"; exec \"$@\"",
                                      folder.file("number"), kCommand};
  command.insert(command.end(), arguments.begin(), arguments.end());
  ProcessResult result;
  std::atomic<bool> has_ended = false;
  std::thread running([&] {
    result = run_or_throw(command, options());
    has_ended = true;
  });
  while (!has_ended && !when()) ::poll(nullptr, 0, 5);
  const auto number = read_file(folder.file("number"));
  if (!has_ended && number) ::kill(std::stoi(*number), signal);
  running.join();
  return result;
}

bool Command::has_backend(const std::string& name) const {
  return run({"backends"}).out.find(fmt::format("{:<20} available", name)) != std::string::npos;
}

ProcessResult Command::run_program(const std::vector<std::string>& command) const {
  return run_or_throw(command, options());
}

std::optional<ProcessResult> Command::run_with_mount(const std::string& mount,
                                                     const std::string& script) const {
  const auto run = [&](const std::string& all) {
    return run_program({"unshare", "--mount", "--map-root-user", "sh", "-c", all});
  };
  if (!run(mount).ok()) return std::nullopt;
  return run(fmt::format("{} && {}", mount, script));
}

ProcessResult Command::run_with_limit(const std::string& limit,
                                      std::vector<std::string> arguments) const {
  std::vector<std::string> command = {
      "/bin/bash", "-c", fmt::format("ulimit {}; exec \"$@\"", limit), "bash", kCommand};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return run_or_throw(command, options());
}

void run_python(const std::vector<std::string>& arguments) {
  std::vector<std::string> command = {TESSERA_PYTHON};
  command.insert(command.end(), arguments.begin(), arguments.end());
  const ProcessResult result = run_or_throw(command, {});
  if (result.ok()) return;
  throw std::runtime_error(
      fmt::format("{}: {}\n{}", fmt::join(command, " "), result.outcome(), result.err));
}

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace tessera::e2e
