// SPDX-License-Identifier: Apache-2.0
#include "link/library_file.h"

#include <algorithm>

#include "link/elf_reader.h"
#include "support/files.h"

namespace tessera::link {
namespace {

Unexpected<Diagnostics> no_library(const std::string& path, const char* what) {
  return fail(
      error(Code::kBadLibrary, nullptr, "`{}` is not a library that tessera made: {}", path, what)
          .with_remedy("give the output of `tessera compile`"));
}

void read_symbols(const ElfReader& elf, const Elf64_Shdr& section, LibraryFile& library) {
  for (const auto& symbol : elf.table<Elf64_Sym>(section)) {
    const int binding = ELF64_ST_BIND(symbol.st_info);
    if (symbol.st_shndx == SHN_UNDEF || binding == STB_LOCAL) continue;
    library.exported.emplace_back(elf.string(section.sh_link, symbol.st_name));
    if (library.exported.back() == "tessera_metadata") {
      library.metadata = elf.text_at_address(symbol.st_value);
    }
  }
  std::sort(library.exported.begin(), library.exported.end());
}

}  // namespace

Result<LibraryFile> read_library_file(const std::string& path) {
  const auto file = MappedFile::open(path);
  if (!file) {
    return fail(error(Code::kFileNotFound, nullptr, "cannot read {}", file.error().text())
                    .with_remedy("check the path"));
  }
  ElfReader elf(file->bytes());
  if (!elf.open(ET_DYN))
    return no_library(path, "it is not a 64-bit ELF library, or it is damaged");
  if (!elf.is_complete()) return no_library(path, "it is truncated");
  LibraryFile library;
  for (const Elf64_Shdr& section : elf.sections()) {
    if (section.sh_type == SHT_DYNSYM) read_symbols(elf, section, library);
    if (elf.name(section) == ".lrodata") library.weights_bytes = section.sh_size;
    if (section.sh_type != SHT_DYNAMIC) continue;
    for (const auto& entry : elf.table<Elf64_Dyn>(section)) {
      if (entry.d_tag != DT_NEEDED) continue;
      library.needed.emplace_back(elf.string(section.sh_link, entry.d_un.d_val));
    }
  }
  if (library.metadata.empty()) return no_library(path, "there is no symbol `tessera_metadata`");
  return library;
}

}  // namespace tessera::link
