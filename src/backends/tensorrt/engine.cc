// SPDX-License-Identifier: Apache-2.0
#include "backends/tensorrt/engine.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include "backends/tensorrt/shim/entry.h"
#include "support/child.h"

namespace tessera::backends::tensorrt {
namespace {

// Large models are built in some minutes.
constexpr double kSecondsOfSilence = 1800;

// The first letter of what the child says: the engine follows, or a sentence.
constexpr char kMade = '+', kRefused = '-', kNotBuilt = '~', kNoneHere = '!';

char letter_of(std::int32_t status) {
  if (status == TESSERA_TENSORRT_NO_BUILDER) return kNoneHere;
  return status == TESSERA_TENSORRT_NOT_BUILT ? kNotBuilt : kRefused;
}

// `headers`: of ours, as far as the object depends on them.
CompileJob job_of(const std::string& name, Source source, const Installation& installation,
                  std::initializer_list<const char*> headers) {
  CompileJob job{name, std::move(source), "cc", {"-O2", "-fno-exceptions", "-fno-rtti"}, {}, {}};
  job.include_folders = installation.include_folders;
  job.headers = {"NvInfer.h",
                 "NvInferVersion.h",
                 "backends/tensorrt/shim/api.h",
                 "backends/tensorrt/shim/entry.h",
                 "runtime/array.h",
                 "runtime/error.h"};
  job.headers.insert(job.headers.end(), headers.begin(), headers.end());
  return job;
}

CompileJob builder_job(const Installation& installation) {
  return job_of("tensorrt_build", Source("#include \"backends/tensorrt/shim/build.h\"\n"),
                installation,
                {"backends/tensorrt/shim/build.h", "backends/tensorrt/shim/network.h",
                 "runtime/json.h", "runtime/json_graph.h", "runtime/size_text.h"});
}

CompileJob run_job(const Installation& installation) {
  return job_of(
      "tensorrt_run",
      source("#include \"backends/tensorrt/shim/run.h\"\n"
             "const char tessera::backends::tensorrt::kLibraryFile[] = {};\n",
             c_string(installation.library_file)),
      installation,
      {"backends/tensorrt/shim/run.h", "runtime/back_end_state.h", "runtime/state_device.h"});
}

// A library that lives in memory only. Null: `dlerror` says why.
void* load(std::string_view library) {
  const int file = ::memfd_create("tensorrt_build", MFD_CLOEXEC);
  if (file < 0) return nullptr;
  for (std::string_view left = library; !left.empty();) {
    const ssize_t n = ::write(file, left.data(), left.size());
    if (n <= 0) break;
    left.remove_prefix(static_cast<std::size_t>(n));
  }
  return dlopen(fmt::format("/proc/self/fd/{}", file).c_str(), RTLD_NOW | RTLD_LOCAL);
}

// In the child, which ends afterwards: nothing is given back.
void build_and_print(const std::string& library_path, const std::string& builder,
                     const tessera_artifact_view& graph, const Print& print) {
  const auto say = [&](char letter, std::string_view text) {
    print(std::string_view(&letter, 1));
    print(text);
  };
  void* library = dlopen(library_path.c_str(), RTLD_LAZY | RTLD_LOCAL);
  void* shim = library == nullptr ? nullptr : load(builder);
  using Build = decltype(&tessera_tensorrt_build);
  const auto build =
      shim == nullptr ? nullptr : reinterpret_cast<Build>(dlsym(shim, "tessera_tensorrt_build"));
  if (build == nullptr) {
    const char* why = dlerror();
    return say(kNoneHere, why != nullptr ? why : "no memory");
  }
  const auto take = [](void* context, const void* engine, std::uint64_t bytes) {
    const auto& out = *static_cast<const Print*>(context);
    out(std::string_view(&kMade, 1));
    out({static_cast<const char*>(engine), bytes});
  };
  char why[1024] = "";
  const tessera_tensorrt_build_args args = {&graph, library,   take, const_cast<Print*>(&print),
                                            why,    sizeof why};
  const std::int32_t status = build(&args);
  if (status != TESSERA_TENSORRT_OK) say(letter_of(status), why);
}

tessera_named_tensor view_of(const Graph::NamedTensor& constant) {
  tessera_named_tensor view = {};
  view.name = constant.first.c_str();
  // Constants are only read; the struct has no const.
  view.tensor.data = const_cast<std::byte*>(constant.second.blob->aligned_bytes(64).data());
  return view;
}

}  // namespace

Result<Shim> Shim::make(const Installation& installation, Toolchain& toolchain) {
  const CompileJob jobs[] = {builder_job(installation), run_job(installation)};
  TESSERA_TRY(const std::vector<std::string> objects, toolchain.compile(jobs));
  TESSERA_TRY(std::string builder, toolchain.shared_library({objects.data(), 1}));
  TESSERA_TRY(std::string archive, toolchain.archive({objects.data() + 1, 1}));
  return Shim(installation.library_path, std::move(builder), std::move(archive));
}

Result<Built> Shim::build(const std::string& symbol, const Graph& graph,
                          const std::vector<Value>& results) const {
  const std::string text = graph.text(results);
  std::vector<tessera_named_tensor> constants;
  for (const Graph::NamedTensor& constant : graph.constants()) {
    constants.push_back(view_of(constant));
  }
  const tessera_artifact_view view = {symbol.c_str(), text.data(), text.size(), constants.data(),
                                      static_cast<std::int32_t>(constants.size())};
  ChildResult child = run_in_child(
      [&](const Print& print) { build_and_print(library_path_, builder_, view, print); },
      kSecondsOfSilence);
  if (!child.problem.empty() || child.output.empty()) {
    return Built{{"", fmt::format("the process that built its engine ended: {}", child.problem)},
                 false};
  }
  const char letter = child.output.front();
  child.output.erase(0, 1);
  if (letter == kMade) return Built{{std::move(child.output)}};
  if (letter == kRefused || letter == kNotBuilt) {
    return Built{{"", std::move(child.output)}, letter == kRefused};
  }
  return fail(error(Code::kBackendMissing, {}, "back end `tensorrt`: {}", child.output)
                  .with_remedy("compile on the machine with the device"));
}

}  // namespace tessera::backends::tensorrt
