// SPDX-License-Identifier: Apache-2.0
#include "link/toolchain.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <mutex>
#include <optional>
#include <set>

#include <fmt/ranges.h>

#include "support/files.h"
#include "support/jobs.h"
#include "support/subprocess.h"

namespace tessera::link {
namespace {

// What every emitted source is compiled with. The random seed makes names of anonymous things
// repeatable; warnings are for those who write the emitter, and its tests switch them on.
constexpr std::array<const char*, 8> kFlags = {
    "-std=c++20", "-fPIC", "-fvisibility=hidden",  "-ffunction-sections", "-fdata-sections",
    "-g0",        "-w",    "-frandom-seed=tessera"};

// What `-march=native` and the like mean depends on the machine, and caches are shared by machines.
std::string machine_text() {
  const auto info = read_file("/proc/cpuinfo");
  if (!info) return "";
  const std::string_view text = *info;
  const std::size_t flags = text.find("\nflags");
  const std::size_t model = text.find("\nmodel\t");
  const auto line = [&](std::size_t at) {
    return at == std::string_view::npos ? "" : text.substr(at, text.find('\n', at + 1) - at);
  };
  return std::string(line(model)) + std::string(line(flags));
}

bool means_this_machine(const std::string& flag) { return flag.ends_with("=native"); }

bool is_cuda(const byoc::CompileJob& job) { return job.extension == "cu"; }

// The content of a header that a source says it includes.
Result<std::string> find_header(const std::vector<std::string>& folders,
                                const std::string& header) {
  for (const std::string& folder : folders) {
    if (auto text = read_file(fmt::format("{}/{}", folder, header))) return *std::move(text);
  }
  return fail(error(Code::kFileNotFound, nullptr, "the header `{}` is in none of the folders {}",
                    header, fmt::join(folders, ", ")));
}

Diagnostic tool_failure(const std::string& tool, const std::string& what, const std::string& why,
                        TempDir& folder) {
  return error(Code::kToolFailed, nullptr, "`{}` could not {}: {}", tool, what, why)
      .with_remedy(fmt::format("what it was given is kept in `{}`", folder.keep()));
}

Unexpected<Diagnostics> cannot_write(const FileError& problem) {
  return fail(error(Code::kFileNotWritable, nullptr, "cannot write {}", problem.text())
                  .with_remedy("make room, or name another folder for temporary files in TMPDIR"));
}

}  // namespace

Result<Toolchain> Toolchain::find(const ToolchainOptions& options) {
  TESSERA_TRY(Compiler compiler, find_compiler());
  TESSERA_TRY(SupportFiles files, SupportFiles::find(options.root));
  return Toolchain(std::move(compiler), std::move(files), options);
}

std::vector<std::string> Toolchain::include_folders(const byoc::CompileJob& job) const {
  std::vector<std::string> folders = support_files_.include_folders();
  folders.insert(folders.end(), job.include_folders.begin(), job.include_folders.end());
  return folders;
}

Result<Hash128> Toolchain::key(const byoc::CompileJob& job) const {
  // Each part with its length, so that no two lists of parts give the same text.
  std::string text;
  const auto add = [&](std::string_view part) {
    text += fmt::format("{}:{}\n", part.size(), part);
  };
  add(compiler_.identity);
  add(support_files_.headers_hash().hex());
  if (is_cuda(job)) {
    add(cuda_->identity);
    for (const std::string& flag : cuda_flags()) add(flag);
  } else {
    for (const char* flag : kFlags) add(flag);
  }
  for (const std::string& flag : job.flags) add(flag);
  if (std::any_of(job.flags.begin(), job.flags.end(), means_this_machine)) add(machine_text());
  for (const std::string& header : job.headers) {
    TESSERA_TRY(const std::string content, find_header(include_folders(job), header));
    add(content);
  }
  add(job.extension);
  add(job.source);
  return hash_text(text);
}

Result<std::string> Toolchain::compile_one(const byoc::CompileJob& job) const {
  TESSERA_TRY(const Hash128 cache_key, key(job));
  if (auto cached = cache_.find(cache_key)) return *std::move(cached);
  TESSERA_TRY(std::string object, run_compiler(job));
  cache_.store(cache_key, object);
  return object;
}

Result<std::string> Toolchain::run_compiler(const byoc::CompileJob& job) const {
  if (is_cuda(job) && cuda_->nvcc.empty()) {
    return fail(no_cuda_compiler(
        fmt::format("the cache has no object of `{}.{}`", job.name, job.extension)));
  }
  auto folder = TempDir::make("tessera-compile");
  if (!folder) return cannot_write(folder.error());
  // Relative names: the folder's name must not reach the object.
  const std::string source = job.name + "." + job.extension, object = job.name + ".o";
  if (auto written = write_atomically(folder->file(source), job.source); !written) {
    return cannot_write(written.error());
  }
  std::vector<std::string> command = compiler_.command;
  if (is_cuda(job)) {
    command = cuda_command(*cuda_, compiler_);
  } else {
    command.insert(command.end(), kFlags.begin(), kFlags.end());
  }
  for (const std::string& include : include_folders(job)) command.push_back("-I" + include);
  command.insert(command.end(), job.flags.begin(), job.flags.end());
  command.insert(command.end(), {"-c", source, "-o", object});
  const auto ran = run_process(command, in_folder(folder->path()));
  if (!ran) {
    return fail(error(Code::kNoCompiler, nullptr, "cannot run {}", ran.error().text()));
  }
  const std::string messages = ran->err + ran->out;
  std::string why = messages.empty() ? ran->outcome() : first_error(messages);
  if (ran->ok() && is_cuda(job)) why = cuda_complaint(messages);
  if (!ran->ok() || (is_cuda(job) && !why.empty())) {
    return fail(tool_failure(command[0], "compile `" + source + "`", why, *folder));
  }
  auto bytes = read_file(folder->file(object));
  if (!bytes) {
    return fail(tool_failure(command[0], "compile `" + source + "`",
                             "it says that it did, and wrote no object", *folder));
  }
  return *std::move(bytes);
}

Result<void> Toolchain::keep_sources(std::span<const byoc::CompileJob> jobs) const {
  for (const byoc::CompileJob& job : jobs) {
    for (const std::string& folder : {source_folder_, job.kept_in}) {
      if (folder.empty()) continue;
      std::error_code reported_when_written;
      std::filesystem::create_directories(folder, reported_when_written);
      const std::string path = folder + "/" + job.name + "." + job.extension;
      if (auto written = write_atomically(path, job.source); !written) {
        return fail(
            error(Code::kFileNotWritable, nullptr, "cannot write {}", written.error().text())
                .with_remedy("choose another folder for the sources"));
      }
    }
  }
  return {};
}

std::vector<std::optional<Result<std::string>>> Toolchain::compile_until(
    std::span<const byoc::CompileJob> jobs, Clock::time_point until) {
  std::vector<std::optional<Result<std::string>>> results(jobs.size());
  if (!cuda_ && std::any_of(jobs.begin(), jobs.end(), is_cuda)) {
    auto found = find_cuda_compiler(cache_);
    if (!found) {
      for (auto& result : results) result = Result<std::string>(Unexpected{found.error()});
      return results;
    }
    cuda_ = *std::move(found);
    remember_cuda_compiler(*cuda_, cache_);
  }
  int at_once = std::max(1, jobs_);
  for (const byoc::CompileJob& job : jobs) {
    if (job.at_once > 0) at_once = std::min(at_once, job.at_once);
  }
  std::mutex reporting;
  std::size_t done = 0;
  run_jobs(jobs.size(), static_cast<std::size_t>(at_once), [&](std::size_t i) {
    if (Clock::now() < until) results[i] = compile_one(jobs[i]);
    const std::lock_guard lock(reporting);
    if (++done; progress_) progress_(done, jobs.size());
  });
  return results;
}

std::vector<Result<std::string>> Toolchain::compile_each(std::span<const byoc::CompileJob> jobs) {
  if (auto kept = keep_sources(jobs); !kept) {
    return std::vector<Result<std::string>>(jobs.size(), Unexpected{kept.error()});
  }
  std::vector<Result<std::string>> results;
  for (auto& result : compile_until(jobs, Clock::time_point::max())) {
    results.push_back(*std::move(result));
  }
  return results;
}

Result<std::vector<std::string>> Toolchain::compile(std::span<const byoc::CompileJob> jobs) {
  std::vector<std::string> objects;
  Diagnostics problems;
  std::set<std::string> messages;  // what is wrong with the surroundings is so for each job
  for (auto& result : compile_each(jobs)) {
    if (result) {
      objects.push_back(*std::move(result));
    } else if (messages.insert(result.error().list.front().message).second) {
      problems.add(std::move(result).error());
    }
  }
  if (!problems.empty()) return fail(std::move(problems));
  return objects;
}

Result<std::string> Toolchain::archive(std::span<const std::string> objects) {
  auto folder = TempDir::make("tessera-archive");
  if (!folder) return cannot_write(folder.error());
  // D: no dates or owners, so that equal objects give equal bytes.
  std::vector<std::string> command = {"ar", "rcsD", "library.a"};
  for (std::size_t i = 0; i < objects.size(); ++i) {
    command.push_back(fmt::format("{}.o", i));
    if (auto written = write_atomically(folder->file(command.back()), objects[i]); !written) {
      return cannot_write(written.error());
    }
  }
  const auto ran = run_process(command, in_folder(folder->path()));
  if (!ran) {
    return fail(error(Code::kToolFailed, nullptr, "cannot run {}", ran.error().text())
                    .with_remedy("install binutils"));
  }
  if (!ran->ok()) {
    return fail(tool_failure("ar", "make an archive", first_error(ran->err), *folder));
  }
  auto bytes = read_file(folder->file("library.a"));
  if (!bytes) return cannot_write(bytes.error());
  return *std::move(bytes);
}

}  // namespace tessera::link
