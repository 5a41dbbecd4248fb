// SPDX-License-Identifier: Apache-2.0
// Relocatable ELF objects of plain data, made without assembler or compiler: the data that a
// library carries never becomes source text.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tessera::link {

// One read-only data section with one symbol at its begin.
struct DataSection {
  std::string section;  // ".tessera.metadata"
  std::string symbol;
  std::uint64_t align_bytes = 1;
  std::string content;  // empty: a section that only reserves reserved_bytes
  std::uint64_t reserved_bytes = 0;
  bool is_large = false;     // may lie more than 2 GB from the code (SHF_X86_64_LARGE)
  bool is_written = false;   // else read-only
  bool is_exported = false;  // else hidden: visible to the other objects of the library only
};

// An object file for the machine that this runs on.
std::string make_elf_object(const std::vector<DataSection>& sections);

}  // namespace tessera::link
