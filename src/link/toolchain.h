// SPDX-License-Identifier: Apache-2.0
// Compiles emitted sources: in parallel, through the object cache. A cached object needs no
// compiler run at all.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "link/compiler.h"
#include "link/cuda_compiler.h"
#include "link/object_cache.h"
#include "link/support_files.h"
#include "toolchain/toolchain.h"

namespace tessera::link {

struct ToolchainOptions {
  std::string root;  // of the support files; empty: found by itself
  std::string cache_folder = ObjectCache::default_folder();  // empty: no cache
  int jobs = 1;                                              // compilers that run at once
  double compiler_limit_s = kToolLimitSeconds;               // for one run of a compiler
  std::string source_folder = {};  // each source is kept here as NAME.EXTENSION; empty: it is not
  // Told after each source of a `compile`, from one thread at a time.
  std::function<void(std::size_t done, std::size_t of)> progress = {};
};

class Toolchain final : public tessera::Toolchain {
 public:
  static Result<Toolchain> find(const ToolchainOptions& options);

  Result<std::vector<std::string>> compile(std::span<const CompileJob> jobs) override;
  std::vector<Result<std::string>> compile_each(std::span<const CompileJob> jobs) override;
  // The same without a source that is kept; nothing for those whose turn had not come at `until`.
  using Clock = std::chrono::steady_clock;
  std::vector<std::optional<Result<std::string>>> compile_until(std::span<const CompileJob> jobs,
                                                                Clock::time_point until);
  bool blames_the_machine(const Diagnostic& why) const override;
  Result<std::string> archive(std::span<const std::string> objects) override;
  Result<std::string> shared_library(std::span<const std::string> objects) override;
  std::optional<std::string> find_made(const Hash128& key) const override;
  void keep_made(const Hash128& key, std::string_view made) const override;
  std::string identity() const override { return compiler_.identity; }

  int compilers_at_once() const { return jobs_; }
  const Compiler& compiler() const { return compiler_; }
  const SupportFiles& support_files() const { return support_files_; }
  const ObjectCache& cache() const { return cache_; }

 private:
  Toolchain(Compiler compiler, SupportFiles files, const ToolchainOptions& options)
      : compiler_(std::move(compiler)),
        support_files_(std::move(files)),
        cache_(options.cache_folder),
        jobs_(options.jobs),
        compiler_limit_s_(options.compiler_limit_s),
        source_folder_(options.source_folder),
        progress_(options.progress) {}
  Result<void> keep_sources(std::span<const CompileJob> jobs) const;
  Result<Hash128> key(const CompileJob& job) const;
  // The object that the cache has; where it has none, nothing, and `key` to store one under.
  std::optional<Result<std::string>> find_cached(const CompileJob& job, Hash128& key) const;
  // What a run of the compiler makes of a source. The device's pass and the host's are runs of
  // their own where the job asks for that.
  enum class Pass { kWhole, kDevice, kHost };
  Result<std::string> run_compiler(const CompileJob& job, Pass pass) const;
  std::vector<std::string> command_of(const CompileJob& job, Pass pass) const;
  // The object of an image and of what loads it.
  Result<std::string> join(const CompileJob& job, std::string image, const std::string& host) const;
  class Run;
  std::vector<std::string> include_folders(const CompileJob& job) const;

  Compiler compiler_;
  std::optional<CudaCompiler> cuda_;  // once a source needs it
  SupportFiles support_files_;
  ObjectCache cache_;
  int jobs_;
  double compiler_limit_s_;
  std::string source_folder_;
  std::function<void(std::size_t, std::size_t)> progress_;
};

}  // namespace tessera::link
