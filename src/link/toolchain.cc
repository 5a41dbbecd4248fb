// SPDX-License-Identifier: Apache-2.0
#include "link/toolchain.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <mutex>
#include <optional>
#include <set>

#include <fmt/ranges.h>

#include "link/elf_object.h"
#include "link/temporary_folder.h"
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
  // Not everywhere do these lines have these names.
  if (flags == std::string_view::npos) return *info;
  return std::string(line(model)) + std::string(line(flags));
}

bool means_this_machine(const std::string& flag) { return flag.ends_with("=native"); }

bool is_cuda(const CompileJob& job) { return job.extension == "cu"; }
bool compiles_apart(const CompileJob& job) { return is_cuda(job) && job.compiles_apart; }

// In a compiler's folder.
constexpr const char* kHostSource = "host_pass.cu";
constexpr const char* kProduct = "product";
// In an object with an image: where tools of CUDA look for code, and the end of its symbol.
constexpr const char* kImageSection = ".nv_fatbin";
constexpr const char* kImage = "_image";
std::string source_name(const CompileJob& job) { return job.name + "." + job.extension; }

// nvcc compiles for the device whatever it is told to compile: nothing, then.
std::string host_source(const CompileJob& job) {
  return fmt::format("#ifndef __CUDA_ARCH__\n#include \"{}\"\n#endif\n", source_name(job));
}

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
  Diagnostic failure = error(Code::kToolFailed, nullptr, "`{}` could not {}: {}", tool, what, why);
  // What it was given is not at fault, and a full disk keeps nothing.
  failure.remedy = blames_the_machine(failure.message)
                       ? "make room on the disk or in memory, name another folder for temporary "
                         "files in TMPDIR, or let fewer compilers run at once with --jobs"
                       : fmt::format("what it was given is kept in `{}`", folder.keep());
  return failure;
}

Diagnostic too_slow(const std::string& tool, const std::string& source, const ProcessResult& ran) {
  return error(Code::kToolFailed, nullptr, "`{}` was stopped while it compiled `{}`: {}", tool,
               source, ran.outcome())
      .with_remedy(
          "give it more seconds with --compiler-timeout, or let fewer compilers run at "
          "once with --jobs");
}

Unexpected<Diagnostics> cannot_write(const FileError& problem) {
  return fail(error(Code::kFileNotWritable, nullptr, "cannot write {}", problem.text())
                  .with_remedy(kMakeRoomForTemporaries));
}

}  // namespace

Result<Toolchain> Toolchain::find(const ToolchainOptions& options) {
  TESSERA_TRY(Compiler compiler, find_compiler());
  TESSERA_TRY(SupportFiles files, SupportFiles::find(options.root));
  return Toolchain(std::move(compiler), std::move(files), options);
}

std::vector<std::string> Toolchain::include_folders(const CompileJob& job) const {
  std::vector<std::string> folders = support_files_.include_folders();
  folders.insert(folders.end(), job.include_folders.begin(), job.include_folders.end());
  return folders;
}

Result<Hash128> Toolchain::key(const CompileJob& job) const {
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
  if (compiles_apart(job)) add(fmt::format("{}, {}\n{}", kImageSection, kImage, host_source(job)));
  add(job.source.text());
  return hash_text(text);
}

std::optional<Result<std::string>> Toolchain::find_cached(const CompileJob& job,
                                                          Hash128& key) const {
  Result<Hash128> found = this->key(job);
  if (!found) return Result<std::string>(Unexpected{found.error()});
  key = *found;
  if (auto cached = cache_.find(key)) return Result<std::string>(*std::move(cached));
  return std::nullopt;
}

std::optional<std::string> Toolchain::find_made(const Hash128& key) const {
  return cache_.find(hash_text(key.hex() + machine_text()));
}

void Toolchain::keep_made(const Hash128& key, std::string_view made) const {
  cache_.store(hash_text(key.hex() + machine_text()), made);
}

// Runs in a folder of its own. Names are relative: the folder's name must not reach the object.
std::vector<std::string> Toolchain::command_of(const CompileJob& job, Pass pass) const {
  std::vector<std::string> command = compiler_.command;
  if (is_cuda(job)) {
    command = cuda_command(*cuda_, compiler_);
  } else {
    command.insert(command.end(), kFlags.begin(), kFlags.end());
  }
  for (const std::string& include : include_folders(job)) command.push_back("-I" + include);
  command.insert(command.end(), job.flags.begin(), job.flags.end());
  if (pass == Pass::kDevice) command.emplace_back("-DTESSERA_DEVICE_PASS");
  if (pass == Pass::kHost) command.emplace_back("-DTESSERA_HOST_PASS");
  command.insert(command.end(),
                 {pass == Pass::kDevice ? "-fatbin" : "-c",
                  pass == Pass::kHost ? kHostSource : source_name(job), "-o", kProduct});
  return command;
}

Result<std::string> Toolchain::run_compiler(const CompileJob& job, Pass pass) const {
  if (is_cuda(job) && cuda_->nvcc.empty()) {
    return fail(no_cuda_compiler(
        fmt::format("the cache has no object of `{}.{}`", job.name, job.extension)));
  }
  TESSERA_TRY(TempDir folder, temporary_folder("tessera-compile"));
  const std::string source = source_name(job);
  auto written = write_atomically(folder.file(source), job.source.text());
  if (written && pass == Pass::kHost) {
    written = write_atomically(folder.file(kHostSource), host_source(job));
  }
  if (!written) return cannot_write(written.error());
  const std::vector<std::string> command = command_of(job, pass);
  const auto ran = run_process(command, in_folder(folder.path(), compiler_limit_s_));
  if (!ran) {
    return fail(error(Code::kNoCompiler, nullptr, "cannot run {}", ran.error().text()));
  }
  if (ran->timed_out) return fail(too_slow(command[0], source, *ran));
  const std::string messages = ran->err + ran->out;
  std::string why = what_went_wrong(*ran, messages);
  if (ran->ok() && is_cuda(job)) why = cuda_complaint(messages);
  if (!ran->ok() || (is_cuda(job) && !why.empty())) {
    return fail(tool_failure(command[0], "compile `" + source + "`", why, folder));
  }
  auto bytes = read_file(folder.file(kProduct));
  if (!bytes) {
    return fail(tool_failure(command[0], "compile `" + source + "`",
                             "it says that it did, and wrote no object", folder));
  }
  return *std::move(bytes);
}

Result<std::string> Toolchain::join(const CompileJob& job, std::string image,
                                    const std::string& host) const {
  TESSERA_TRY(TempDir folder, temporary_folder("tessera-join"));
  // Images begin with numbers of 64 bits.
  const DataSection section{kImageSection, job.name + kImage, 8, std::move(image)};
  for (const auto& [name, bytes] : {std::pair<std::string, std::string>("host.o", host),
                                    {"image.o", make_elf_object({section})}}) {
    if (auto written = write_atomically(folder.file(name), bytes); !written) {
      return cannot_write(written.error());
    }
  }
  std::vector<std::string> command = compiler_.command;
  command.insert(command.end(), {"-r", "-nostdlib", "host.o", "image.o", "-o", kProduct});
  const auto ran = run_process(command, in_folder(folder.path()));
  if (!ran) return fail(error(Code::kNoCompiler, nullptr, "cannot run {}", ran.error().text()));
  auto bytes = read_file(folder.file(kProduct));
  if (ran->ok() && bytes) return *std::move(bytes);
  return fail(tool_failure(command[0], "join the parts of `" + source_name(job) + "`",
                           what_went_wrong(*ran, ran->err), folder));
}

Result<void> Toolchain::keep_sources(std::span<const CompileJob> jobs) const {
  for (const CompileJob& job : jobs) {
    for (const std::string& folder : {source_folder_, job.kept_in}) {
      if (folder.empty()) continue;
      std::error_code reported_when_written;
      std::filesystem::create_directories(folder, reported_when_written);
      const std::string path = folder + "/" + source_name(job);
      if (auto written = write_atomically(path, job.source.text()); !written) {
        return fail(
            error(Code::kFileNotWritable, nullptr, "cannot write {}", written.error().text())
                .with_remedy("choose another folder for the sources"));
      }
    }
  }
  return {};
}

// Jobs on their way to objects. What the cache lacks is compiled pass by pass, on as many threads
// as compilers may run.
class Toolchain::Run {
 public:
  Run(const Toolchain& toolchain, std::span<const CompileJob> jobs,
      std::vector<std::optional<Result<std::string>>>& results)
      : toolchain_(toolchain), jobs_(jobs), results_(results), works_(jobs.size()) {}

  void run(std::size_t threads, Clock::time_point until) {
    run_jobs(jobs_.size(), threads, [&](std::size_t i) {
      results_[i] = toolchain_.find_cached(jobs_[i], works_[i].key);
      if (results_[i]) report();
    });
    const auto passes = missing();
    run_jobs(passes.size(), threads, [&](std::size_t i) {
      const auto [job, pass] = passes[i];
      if (Clock::now() < until && !has_failed(job)) {
        take(job, pass, toolchain_.run_compiler(jobs_[job], pass));
      }
    });
  }

 private:
  struct Work {
    Hash128 key;
    std::optional<std::string> image, object;  // what its passes made
  };

  // In the order of the jobs: the first ones are whole when time runs out.
  std::vector<std::pair<std::size_t, Pass>> missing() const {
    std::vector<std::pair<std::size_t, Pass>> passes;
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
      if (results_[i]) continue;
      const bool is_apart = compiles_apart(jobs_[i]);
      passes.emplace_back(i, is_apart ? Pass::kDevice : Pass::kWhole);
      if (is_apart) passes.emplace_back(i, Pass::kHost);
    }
    return passes;
  }

  void take(std::size_t i, Pass pass, Result<std::string> made) {
    Work& work = works_[i];
    {
      const std::lock_guard lock(taking_);
      if (results_[i]) return;
      if (!made) {  // whatever becomes of the other pass
        results_[i] = std::move(made);
      } else {
        (pass == Pass::kDevice ? work.image : work.object) = *std::move(made);
        if (!work.object || (compiles_apart(jobs_[i]) && !work.image)) return;
      }
    }
    if (!results_[i]) finish(i);
    report();
  }

  void finish(std::size_t i) {
    Work& work = works_[i];
    Result<std::string> object =
        work.image ? toolchain_.join(jobs_[i], *std::move(work.image), *work.object)
                   : Result<std::string>(*std::move(work.object));
    if (object) toolchain_.cache_.store(work.key, *object);
    results_[i] = std::move(object);
  }

  bool has_failed(std::size_t i) {
    const std::lock_guard lock(taking_);
    return results_[i].has_value();
  }

  void report() {
    const std::lock_guard lock(taking_);
    ++done_;
    if (toolchain_.progress_) toolchain_.progress_(done_, jobs_.size());
  }

  const Toolchain& toolchain_;
  std::span<const CompileJob> jobs_;
  std::vector<std::optional<Result<std::string>>>& results_;
  std::vector<Work> works_;
  std::mutex taking_;
  std::size_t done_ = 0;
};

std::vector<std::optional<Result<std::string>>> Toolchain::compile_until(
    std::span<const CompileJob> jobs, Clock::time_point until) {
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
  for (const CompileJob& job : jobs) {
    if (job.at_once > 0) at_once = std::min(at_once, job.at_once);
  }
  Run(*this, jobs, results).run(static_cast<std::size_t>(at_once), until);
  return results;
}

std::vector<Result<std::string>> Toolchain::compile_each(std::span<const CompileJob> jobs) {
  if (auto kept = keep_sources(jobs); !kept) {
    return std::vector<Result<std::string>>(jobs.size(), Unexpected{kept.error()});
  }
  std::vector<Result<std::string>> results;
  for (auto& result : compile_until(jobs, Clock::time_point::max())) {
    results.push_back(*std::move(result));
  }
  return results;
}

Result<std::vector<std::string>> Toolchain::compile(std::span<const CompileJob> jobs) {
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

bool Toolchain::blames_the_machine(const Diagnostic& why) const {
  return why.code == Code::kFileNotWritable ||
         (why.code == Code::kToolFailed && link::blames_the_machine(why.message));
}

Result<std::string> Toolchain::archive(std::span<const std::string> objects) {
  TESSERA_TRY(TempDir folder, temporary_folder("tessera-archive"));
  // D: no dates or owners, so that equal objects give equal bytes.
  std::vector<std::string> command = {"ar", "rcsD", "library.a"};
  for (std::size_t i = 0; i < objects.size(); ++i) {
    command.push_back(fmt::format("{}.o", i));
    if (auto written = write_atomically(folder.file(command.back()), objects[i]); !written) {
      return cannot_write(written.error());
    }
  }
  const auto ran = run_process(command, in_folder(folder.path()));
  if (!ran) {
    return fail(error(Code::kToolFailed, nullptr, "cannot run {}", ran.error().text())
                    .with_remedy("install binutils"));
  }
  if (!ran->ok()) {
    return fail(tool_failure("ar", "make an archive", what_went_wrong(*ran, ran->err), folder));
  }
  auto bytes = read_file(folder.file("library.a"));
  if (!bytes) return cannot_write(bytes.error());
  return *std::move(bytes);
}

}  // namespace tessera::link
