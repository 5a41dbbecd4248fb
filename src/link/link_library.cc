// SPDX-License-Identifier: Apache-2.0
#include "link/link_library.h"

#include <filesystem>
#include <set>

#include "link/temporary_folder.h"
#include "support/files.h"
#include "support/subprocess.h"

namespace tessera::link {
namespace {

constexpr std::string_view kExports = "{\n  global: tessera_*;\n  local: *;\n};\n";

Unexpected<Diagnostics> cannot_write(const FileError& problem, const char* remedy) {
  return fail(error(Code::kFileNotWritable, nullptr, "cannot write {}", problem.text())
                  .with_remedy(remedy));
}

constexpr const char* kOutput = "make room, or choose another path for the output";

// A hash of everything that goes into the library: what the linker writes as its build id.
Result<Hash128> input_hash(const LinkInput& input, const std::vector<std::string>& cuda_libraries,
                           const std::vector<std::string>& archive_paths) {
  std::string text;
  const auto add = [&](const Hash128& hash) { text += hash.hex(); };
  for (const std::string& object : input.objects) add(hash_text(object));
  for (const auto* archives : {&input.archives, &cuda_libraries}) {
    for (const std::string& archive : *archives) add(hash_text(archive));
  }
  for (const std::string& path : archive_paths) {
    const auto bytes = MappedFile::open(path);
    if (!bytes) {
      return fail(error(Code::kFileNotFound, nullptr, "cannot read {}", bytes.error().text()));
    }
    add(hash_bytes(bytes->bytes()));
  }
  for (const WeightPiece& piece : input.weights) {
    text += fmt::format("@{}", piece.offset);
    add(piece.blob->hash());
  }
  text += input.shared_weights.path;
  return hash_text(text);
}

// The GNU linkers put .lrodata last, as make_room_for_weights needs; lld 14 does not.
std::string linker_flag() {
  if (!find_program("ld.bfd").empty()) return "-fuse-ld=bfd";
  if (!find_program("ld.gold").empty()) return "-fuse-ld=gold";
  return "";
}

// A model's runtime is taken whole, for what it exports; other archives give what is called.
std::vector<std::string> link_command(const Toolchain& toolchain, const Hash128& build_id,
                                      const std::string& name, const std::string& whole,
                                      const std::vector<std::string>& files,
                                      const SharedWeights& shared) {
  std::vector<std::string> command = toolchain.compiler().command;
  const auto add = [&](std::initializer_list<const char*> words) {
    command.insert(command.end(), words.begin(), words.end());
  };
  add({"-shared", "-static-libgcc", "-static-libstdc++", "-s"});
  if (std::string flag = linker_flag(); !flag.empty()) command.push_back(std::move(flag));
  add({"-Wl,-z,now,-z,relro,-z,noexecstack,-z,nodelete,-z,defs", "-Wl,-Bsymbolic,--gc-sections",
       "-Wl,--exclude-libs,libstdc++.a:libgcc.a:libgcc_eh.a", "-Wl,--version-script=exports"});
  command.push_back("-Wl,--build-id=0x" + build_id.hex());
  // Not by -Wl, which a comma in the name would end.
  if (!name.empty()) command.insert(command.end(), {"-Xlinker", "-soname=" + name});
  if (!shared.path.empty()) {
    command.push_back(std::string("-Wl,--undefined=") + kMapsSharedWeights);
  }
  add({"-o", "library.so"});
  if (!whole.empty()) {
    command.insert(command.end(), {"-Wl,--whole-archive", whole, "-Wl,--no-whole-archive"});
  }
  add({"-Wl,--start-group"});
  command.insert(command.end(), files.begin(), files.end());
  add({"-Wl,--end-group", "-Wl,--as-needed", "-lm", "-lpthread", "-ldl", "-lrt"});
  return command;
}

// As tessera_vendor_folders of runtime/program.h has them.
DataSection vendor_folders(const std::vector<std::string>& folders) {
  std::string content;
  for (const std::string& folder : folders) content += folder + '\0';
  return {".tessera.folders", "tessera_vendor_folders", 1, content + '\0'};
}

// Writes what is given as bytes into the folder; gives the names.
FileResult<std::vector<std::string>> write_inputs(const LinkInput& input,
                                                  const std::vector<std::string>& cuda_libraries,
                                                  const TempDir& folder) {
  std::vector<std::string> names;
  const auto put = [&](std::string name, std::string_view bytes) -> FileResult<void> {
    names.push_back(name);
    return write_atomically(folder.file(name), bytes);
  };
  for (std::size_t i = 0; i < input.objects.size(); ++i) {
    TESSERA_TRY_VOID(put(fmt::format("object_{}.o", i), input.objects[i]));
  }
  if (input.weights_bytes > 0) {
    TESSERA_TRY_VOID(put("weights.o", make_elf_object({weights_placeholder()})));
  }
  if (!input.shared_weights.path.empty()) {
    TESSERA_TRY_VOID(
        put("weights.o", make_elf_object(shared_weights_sections(input.shared_weights))));
  }
  if (!input.vendor_folders.empty()) {
    TESSERA_TRY_VOID(put("folders.o", make_elf_object({vendor_folders(input.vendor_folders)})));
  }
  for (std::size_t i = 0; i < input.archives.size(); ++i) {
    TESSERA_TRY_VOID(put(fmt::format("archive_{}.a", i), input.archives[i]));
  }
  for (std::size_t i = 0; i < cuda_libraries.size(); ++i) {
    TESSERA_TRY_VOID(put(fmt::format("cuda_{}.a", i), cuda_libraries[i]));
  }
  TESSERA_TRY_VOID(write_atomically(folder.file("exports"), kExports));
  return names;
}

// Their bytes, each once.
Result<std::vector<std::string>> read_cuda_libraries(const Toolchain& toolchain,
                                                     std::span<const std::string> files) {
  std::vector<std::string> libraries;
  for (const std::string& file : std::set(files.begin(), files.end())) {
    TESSERA_TRY(std::string bytes, read_cuda_library(file, toolchain.cache()));
    libraries.push_back(std::move(bytes));
  }
  return libraries;
}

Result<void> run_linker(const std::vector<std::string>& command, TempDir& folder,
                        const char* what = "library") {
  const auto ran = run_process(command, in_folder(folder.path()));
  if (!ran) return fail(error(Code::kNoCompiler, nullptr, "cannot run {}", ran.error().text()));
  if (ran->ok()) return {};
  const std::string why = what_went_wrong(*ran, ran->err);
  return fail(
      error(Code::kToolFailed, nullptr, "`{}` could not link the {}: {}", command[0], what, why)
          .with_remedy(fmt::format("what it was given is kept in `{}`", folder.keep())));
}

}  // namespace

Result<std::string> link_image(const Toolchain& toolchain, const LinkInput& input,
                               const std::string& name) {
  TESSERA_TRY(const std::string runtime, toolchain.support_files().archive("runtime"));
  std::vector<std::string> archives;
  std::set<std::string> of_runtime(input.runtime_archives.begin(), input.runtime_archives.end());
  if (!input.shared_weights.path.empty()) of_runtime.insert("shared_weights");
  for (const std::string& name : of_runtime) {
    if (name == "runtime") continue;
    TESSERA_TRY(std::string path, toolchain.support_files().archive(name));
    archives.push_back(std::move(path));
  }
  TESSERA_TRY(const std::vector<std::string> cuda_libraries,
              read_cuda_libraries(toolchain, input.cuda_libraries));
  std::vector<std::string> hashed = archives;
  hashed.push_back(runtime);
  TESSERA_TRY(const Hash128 build_id, input_hash(input, cuda_libraries, hashed));
  TESSERA_TRY(TempDir folder, temporary_folder("tessera-link"));
  auto files = write_inputs(input, cuda_libraries, folder);
  if (!files) return cannot_write(files.error(), kMakeRoomForTemporaries);
  files->insert(files->end(), archives.begin(), archives.end());
  if (!input.is_model) files->push_back(runtime);
  const std::string whole = input.is_model ? runtime : "";
  TESSERA_TRY_VOID(run_linker(
      link_command(toolchain, build_id, name, whole, *files, input.shared_weights), folder));
  auto image = read_file(folder.file("library.so"));
  if (!image) return cannot_write(image.error(), kMakeRoomForTemporaries);
  return *std::move(image);
}

Result<std::string> Toolchain::shared_library(std::span<const std::string> objects) {
  LinkInput input;
  input.objects.assign(objects.begin(), objects.end());
  input.is_model = false;
  return link_image(*this, input);
}

Result<void> link_program(const Toolchain& toolchain, std::span<const std::string> objects,
                          std::span<const std::string> cuda_libraries, const std::string& path) {
  TESSERA_TRY(TempDir folder, temporary_folder("tessera-link"));
  LinkInput input;
  input.objects.assign(objects.begin(), objects.end());
  TESSERA_TRY(const std::vector<std::string> libraries,
              read_cuda_libraries(toolchain, cuda_libraries));
  const auto files = write_inputs(input, libraries, folder);
  if (!files) return cannot_write(files.error(), kMakeRoomForTemporaries);
  std::vector<std::string> command = toolchain.compiler().command;
  command.insert(command.end(), {"-o", "program"});
  command.insert(command.end(), files->begin(), files->end());
  command.insert(command.end(), {"-lpthread", "-ldl", "-lrt"});
  TESSERA_TRY_VOID(run_linker(command, folder, "program"));
  std::error_code problem;
  std::filesystem::rename(folder.file("program"), path, problem);
  if (problem) return cannot_write(FileError{path, problem}, kMakeRoomForTemporaries);
  return {};
}

Result<void> link_library(const Toolchain& toolchain, const LinkInput& input,
                          const std::string& path) {
  TESSERA_TRY(std::string image,
              link_image(toolchain, input, std::filesystem::path(path).filename().string()));
  std::uint64_t weights_offset = 0;
  if (input.weights_bytes > 0) {
    TESSERA_TRY(weights_offset, make_room_for_weights(image, input.weights_bytes));
  }
  const auto written = write_atomically(path, [&](FileWriter& file) -> FileResult<void> {
    file.write(image);
    if (input.weights_bytes == 0) return {};
    file.write(std::string(weights_offset - image.size(), '\0'));
    write_weights(file, input.weights, input.weights_bytes);
    return {};
  });
  if (!written) return cannot_write(written.error(), kOutput);
  return {};
}

Result<void> check_output(const std::string& path) {
  if (const auto ready = check_writable(path); !ready) return cannot_write(ready.error(), kOutput);
  return {};
}

}  // namespace tessera::link
