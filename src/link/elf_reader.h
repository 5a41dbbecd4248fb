// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <elf.h>

namespace tessera::link {

// Everything is read through checks of bounds: the file may be damaged, or no library at all.
class ElfReader {
 public:
  explicit ElfReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  // A 64-bit file of this type.
  bool open(Elf64_Half type) {
    const auto elf = record<Elf64_Ehdr>(0);
    if (!elf || std::memcmp(elf->e_ident, ELFMAG, SELFMAG) != 0 ||
        elf->e_ident[EI_CLASS] != ELFCLASS64 || elf->e_ident[EI_DATA] != ELFDATA2LSB ||
        elf->e_type != type || elf->e_shentsize != sizeof(Elf64_Shdr)) {
      return false;
    }
    for (int i = 0; i < elf->e_shnum; ++i) {
      const auto section = record<Elf64_Shdr>(elf->e_shoff + i * sizeof(Elf64_Shdr));
      if (!section) return false;
      sections_.push_back(*section);
    }
    names_ = elf->e_shstrndx;
    return names_ < sections_.size();
  }

  // Whether the file has every byte that the loader maps: one that was cut ends the process that
  // touches what is missing.
  bool is_complete() const {
    const auto elf = *record<Elf64_Ehdr>(0);
    for (int i = 0; i < elf.e_phnum; ++i) {
      const auto segment = record<Elf64_Phdr>(elf.e_phoff + i * sizeof(Elf64_Phdr));
      if (!segment || segment->p_offset > bytes_.size() ||
          segment->p_filesz > bytes_.size() - segment->p_offset) {
        return false;
      }
    }
    return true;
  }

  const std::vector<Elf64_Shdr>& sections() const { return sections_; }
  std::string_view name(const Elf64_Shdr& section) const { return string(names_, section.sh_name); }

  template <class T>
  std::optional<T> record(std::uint64_t at) const {
    if (at > bytes_.size() || sizeof(T) > bytes_.size() - at) return std::nullopt;
    T value;
    std::memcpy(&value, bytes_.data() + at, sizeof value);
    return value;
  }

  // All records of a section.
  template <class T>
  std::vector<T> table(const Elf64_Shdr& section) const {
    std::vector<T> records;
    for (std::uint64_t at = 0; at + sizeof(T) <= section.sh_size; at += sizeof(T)) {
      const auto one = record<T>(section.sh_offset + at);
      if (!one) break;
      records.push_back(*one);
    }
    return records;
  }

  // The text at `at` in string table `section`; empty if there is none.
  std::string_view string(std::size_t section, std::uint64_t at) const {
    if (section >= sections_.size() || at >= sections_[section].sh_size) return "";
    return text_at(sections_[section].sh_offset + at);
  }

  // The text at an address of the loaded library.
  std::string_view text_at_address(std::uint64_t address) const {
    for (const Elf64_Shdr& s : sections_) {
      if (s.sh_type != SHT_NOBITS && address >= s.sh_addr && address - s.sh_addr < s.sh_size) {
        return text_at(s.sh_offset + (address - s.sh_addr));
      }
    }
    return "";
  }

 private:
  std::string_view text_at(std::uint64_t offset) const {
    if (offset >= bytes_.size()) return "";
    const char* begin = reinterpret_cast<const char*>(bytes_.data()) + offset;
    const std::size_t rest = bytes_.size() - offset;
    const void* end = std::memchr(begin, 0, rest);
    return end == nullptr ? "" : std::string_view(begin, static_cast<const char*>(end) - begin);
  }

  std::span<const std::byte> bytes_;
  std::vector<Elf64_Shdr> sections_;
  std::size_t names_ = 0;
};

}  // namespace tessera::link
