// SPDX-License-Identifier: Apache-2.0
#include "link/code_sizes.h"

#include <algorithm>

#include "link/elf_reader.h"

namespace tessera::link {
namespace {

// The numbers and letters of a mangled or cloned name: `_ZZ5k_addE...`, `k_add.part.0`.
bool belongs_to(std::string_view local, const std::string& function) {
  const std::size_t at = local.find(function);
  if (at == std::string_view::npos) return false;
  const std::size_t end = at + function.size();
  const bool is_whole = end == local.size() || local[end] == 'E' || local[end] == '.';
  const bool is_counted = local.substr(0, at).ends_with(std::to_string(function.size()));
  return is_whole && (at == 0 || is_counted);
}

}  // namespace

std::map<std::string, std::uint64_t> code_sizes(std::string_view object) {
  ElfReader elf(std::as_bytes(std::span(object)));
  std::map<std::string, std::uint64_t> sizes;
  std::vector<std::pair<std::string_view, std::uint64_t>> locals;
  if (!elf.open(ET_REL)) return sizes;
  for (const Elf64_Shdr& section : elf.sections()) {
    if (section.sh_type != SHT_SYMTAB) continue;
    for (const auto& symbol : elf.table<Elf64_Sym>(section)) {
      if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_shndx == SHN_UNDEF) continue;
      const std::string_view name = elf.string(section.sh_link, symbol.st_name);
      if (ELF64_ST_BIND(symbol.st_info) == STB_LOCAL) {
        locals.emplace_back(name, symbol.st_size);
      } else {
        sizes[std::string(name)] += symbol.st_size;
      }
    }
  }
  for (const auto& [name, bytes] : locals) {
    for (auto& [function, size] : sizes) {
      if (!belongs_to(name, function)) continue;
      size += bytes;
      break;
    }
  }
  return sizes;
}

}  // namespace tessera::link
