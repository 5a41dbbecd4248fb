// SPDX-License-Identifier: Apache-2.0
#include "link/cuda_compiler.h"

#include <cstdlib>
#include <filesystem>
#include <map>
#include <mutex>

#include "support/files.h"

namespace tessera::link {
namespace {

constexpr const char* kRemedy =
    "install the CUDA toolkit (13.0 or later), and put its bin/ into PATH or its folder into "
    "CUDA_HOME";

// NDEBUG: a device-side assert calls a function, and around calls ptxas serialises wgmma.
// The path: of the true one, which is in a temporary folder, nvcc makes a number in the names of
// what is internal; the source's own name is in them, too.
constexpr const char* kFlags[] = {"-std=c++20",
                                  "-O3",
                                  "-frandom-seed=0x7e55e7a",
                                  "-Xcudafe=--orig_src_path_name=source.cu",
                                  "-DNDEBUG",
                                  "--expt-relaxed-constexpr",
                                  "-diag-suppress=20012,20013,20015",
                                  "-Xcompiler=-fPIC,-fvisibility=hidden,-ffunction-sections",
                                  "-Xcompiler=-fdata-sections,-g0,-w,-frandom-seed=tessera"};

constexpr int kOldestToolkit = 13;

// The toolkit's folder, as the user says; "" where they do not.
std::string told_folder() {
  const char* home = std::getenv("CUDA_HOME");
  return home == nullptr || *home == '\0' ? "" : std::string(home) + "/bin/";
}

// Where the user says; else the usual places.
std::string program() {
  if (const std::string folder = told_folder(); !folder.empty()) {
    return find_program(folder + "nvcc");
  }
  if (std::string found = find_program("nvcc"); !found.empty()) return found;
  return find_program("/usr/local/cuda/bin/nvcc");
}

// What `nvcc --version` prints, with what tells that the program is the one that was asked: a
// compilation wants to know several times, and each answer takes some tens of milliseconds.
struct Answer {
  std::filesystem::file_time_type written;
  std::uintmax_t bytes = 0;
  std::string text;
};

Result<std::string> version_text(const std::string& nvcc, const ObjectCache& cache) {
  static std::mutex mutex;
  static std::map<std::string, Answer> answers;
  const std::lock_guard lock(mutex);
  std::error_code ignored;
  const auto written = std::filesystem::last_write_time(nvcc, ignored);
  const auto bytes = std::filesystem::file_size(nvcc, ignored);
  const auto it = answers.find(nvcc);
  if (it != answers.end() && it->second.written == written && it->second.bytes == bytes) {
    return it->second.text;
  }
  const Hash128 key = hash_text(
      fmt::format("{} --version\n{} {}", nvcc, written.time_since_epoch().count(), bytes));
  if (auto kept = cache.find(key)) {
    answers[nvcc] = {written, bytes, *kept};
    return *std::move(kept);
  }
  const auto ran = run_process({nvcc, "--version"});
  if (!ran || !ran->ok()) {
    return fail(error(Code::kNoCompiler, nullptr, "`{}` does not run: {}", nvcc,
                      ran ? ran->outcome() : ran.error().text())
                    .with_remedy(kRemedy));
  }
  answers[nvcc] = {written, bytes, ran->out};
  cache.store(key, ran->out);
  return ran->out;
}

// The key of the identity of the compiler that filled a cache last.
Hash128 key_of_last() { return hash_text("the CUDA compiler"); }

// "12.4" of "Cuda compilation tools, release 12.4, V12.4.131"; "" if nothing is said.
std::string release_of(const std::string& text) {
  constexpr std::string_view kWord = "release ";
  const std::size_t at = text.find(kWord);
  if (at == std::string::npos) return "";
  const std::size_t begin = at + kWord.size();
  return text.substr(begin, text.find_first_not_of("0123456789.", begin) - begin);
}

}  // namespace

Diagnostic no_cuda_compiler(const std::string& need) {
  return error(Code::kNoCompiler, nullptr, "no CUDA compiler was found: there is no `{}nvcc`{}{}",
               told_folder(), need.empty() ? "" : ", and ", need)
      .with_remedy(kRemedy);
}

void remember_cuda_compiler(const CudaCompiler& cuda, const ObjectCache& cache) {
  if (cache.find(key_of_last()) != cuda.identity) cache.store(key_of_last(), cuda.identity);
}

Result<CudaCompiler> find_cuda_compiler(const ObjectCache& cache) {
  const std::string nvcc = program();
  if (nvcc.empty()) {
    if (auto last = cache.find(key_of_last())) return CudaCompiler{"", "", *std::move(last)};
    return fail(no_cuda_compiler());
  }
  TESSERA_TRY(std::string version, version_text(nvcc, cache));
  if (const std::string release = release_of(version);
      std::atoi(release.c_str()) < kOldestToolkit) {
    return fail(error(Code::kNoCompiler, nullptr, "`{}` {}, and CUDA {}.0 or later is needed", nvcc,
                      release.empty() ? "does not say its release" : "is of CUDA " + release,
                      kOldestToolkit)
                    .with_remedy(kRemedy));
  }
  std::error_code ignored;
  const auto real = std::filesystem::canonical(nvcc, ignored);
  const std::string path = ignored ? nvcc : real.string();
  // The last line names the build, the one before it the version.
  while (!version.empty() && version.back() == '\n') version.pop_back();
  version.erase(0, version.rfind('\n') + 1);
  return CudaCompiler{nvcc, std::filesystem::path(path).parent_path().parent_path().string(),
                      fmt::format("{} [{}]", version, path)};
}

std::vector<std::string> cuda_flags() { return {std::begin(kFlags), std::end(kFlags)}; }

std::vector<std::string> cuda_command(const CudaCompiler& cuda, const Compiler& host) {
  // A launcher before the compiler (ccache) is none of nvcc's business. Intermediate files are kept
  // because their names, which get into the object, are otherwise made from the process's number.
  std::vector<std::string> command = {cuda.nvcc, "-ccbin", host.command.back(), "--keep"};
  command.insert(command.end(), std::begin(kFlags), std::end(kFlags));
  return command;
}

std::string cuda_complaint(const std::string& messages) {
  const std::size_t at = messages.find("C7510");
  if (at == std::string::npos) return "";
  const std::size_t begin = messages.rfind('\n', at) + 1;
  return messages.substr(begin, messages.find('\n', at) - begin);
}

Result<std::string> read_cuda_library(const std::string& file, const ObjectCache& cache) {
  TESSERA_TRY(const CudaCompiler cuda, find_cuda_compiler(cache));
  const Hash128 key = hash_text(fmt::format("{}\n{}", file, cuda.identity));
  if (auto kept = cache.find(key)) return *std::move(kept);
  if (cuda.nvcc.empty()) {
    return fail(no_cuda_compiler(fmt::format("the cache has no `{}` of its toolkit", file)));
  }
  for (const char* folder : {"/lib64/", "/targets/x86_64-linux/lib/", "/lib/"}) {
    auto bytes = read_file(cuda.toolkit + folder + file);
    if (!bytes) continue;
    cache.store(key, *bytes);
    return *std::move(bytes);
  }
  return fail(error(Code::kFileNotFound, nullptr, "the CUDA toolkit in `{}` has no `{}`",
                    cuda.toolkit, file)
                  .with_remedy(kRemedy));
}

}  // namespace tessera::link
