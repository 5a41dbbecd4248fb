// SPDX-License-Identifier: Apache-2.0
#include "backends/testing/compiled_module.h"

#include <cstdlib>
#include <filesystem>
#include <set>
#include <stdexcept>

#include <dlfcn.h>
#include <unistd.h>

#include "byoc/function_at_a_time.h"
#include "link/toolchain.h"
#include "support/check.h"
#include "support/files.h"
#include "support/subprocess.h"

namespace tessera::backends::testing {
namespace {

template <class T>
T expect(Result<T> result) {
  if (!result) throw std::runtime_error(render(result.error()));
  return std::move(*result);
}

// What all artifacts define or need, by name.
std::set<std::string> functions_of(const Module& module) {
  std::set<std::string> out;
  for (const Artifact& a : module.artifacts) {
    if (a.kind != ArtifactKind::kRuntimeModule) out.insert(a.symbols.begin(), a.symbols.end());
    for (const std::string& f :
         {a.run_function, a.state.create_library, a.state.destroy_library, a.state.create_instance,
          a.state.destroy_instance, a.state.create_call_site, a.state.destroy_call_site}) {
      if (!f.empty()) out.insert(f);
    }
  }
  return out;
}

// An exported array of the functions, so that hidden ones can be found.
Source table_source(const std::set<std::string>& functions) {
  Source out("extern \"C\" {\n");
  for (const std::string& f : functions) out += source("int {}();\n", c_name(f));
  out += "__attribute__((visibility(\"default\"))) void* tessera_test_functions[] = {\n";
  for (const std::string& f : functions) out += source("  (void*){},\n", c_name(f));
  return out + "  nullptr};\n}\n";
}

void write(const std::string& path, const std::string& bytes) {
  if (auto written = write_atomically(path, bytes); !written) {
    throw std::runtime_error(written.error().text());
  }
}

}  // namespace

Toolchain& test_toolchain() {
  static link::Toolchain toolchain = [] {
    ::setenv("TESSERA_ROOT", TESSERA_BUILD_DIR, 0);  // where back ends find the command
    return expect(
        link::Toolchain::find({.root = TESSERA_BUILD_DIR, .cache_folder = "", .jobs = 1}));
  }();
  return toolchain;
}

CompiledModule::CompiledModule(const Module& module) { build(module); }

CompiledModule::~CompiledModule() {
  if (library_ != nullptr) dlclose(library_);
}

void* CompiledModule::address(const std::string& name) const {
  if (name.empty()) return nullptr;
  const auto found = functions_.find(name);
  TESSERA_CHECK(found != functions_.end(), "no function {}", name);
  return found->second;
}

void CompiledModule::build(const Module& module) {
  const std::set<std::string> functions = functions_of(module);
  if (functions.empty()) return;
  char folder[] = "/tmp/tessera_test_XXXXXX";
  TESSERA_CHECK(mkdtemp(folder) != nullptr, "no temporary folder");
  const std::string dir = folder;
  std::vector<CompileJob> jobs = {{"table", table_source(functions), "cc", {}}};
  std::vector<std::string> command = {"g++", "-shared", "-o", dir + "/test.so"};
  std::set<std::string> archives = {"runtime"};
  for (const Artifact& a : module.artifacts) {
    archives.insert(a.runtime_archives.begin(), a.runtime_archives.end());
    if (a.kind == ArtifactKind::kCSource)
      jobs.push_back({a.backend, byoc::c_source(a), "cc", a.compile_flags});
    if (a.kind != ArtifactKind::kStaticLibrary) continue;
    command.push_back(fmt::format("{}/{}.a", dir, a.backend));
    write(command.back(), a.payload);
  }
  int number = 0;
  for (const std::string& object : expect(test_toolchain().compile(jobs))) {
    command.insert(command.begin() + 4, fmt::format("{}/{}.o", dir, number++));
    write(command[4], object);
  }
  command.push_back("-Wl,--start-group");
  for (const std::string& name : archives) {
    command.push_back(fmt::format("{}/lib/tessera/libtessera_{}.a", TESSERA_BUILD_DIR, name));
  }
  for (const char* flag : {"-Wl,--end-group", "-ldl"}) command.push_back(flag);
  const auto linked = run_process(command);
  if (!linked || !linked->ok()) throw std::runtime_error(linked ? linked->err : "no g++");
  library_ = dlopen((dir + "/test.so").c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library_ == nullptr) throw std::runtime_error(dlerror());
  auto* table = static_cast<void**>(dlsym(library_, "tessera_test_functions"));
  if (table == nullptr) throw std::runtime_error(dlerror());
  for (const std::string& f : functions) functions_[f] = *table++;
  std::filesystem::remove_all(dir);
}

}  // namespace tessera::backends::testing
