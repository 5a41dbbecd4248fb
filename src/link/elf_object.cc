// SPDX-License-Identifier: Apache-2.0
#include "link/elf_object.h"

#include <cstring>
#include <string_view>

#include <elf.h>

namespace tessera::link {
namespace {

#if defined(__x86_64__)
constexpr Elf64_Half kMachine = EM_X86_64;
constexpr Elf64_Xword kLargeFlag = 0x10000000;  // SHF_X86_64_LARGE
#elif defined(__aarch64__)
constexpr Elf64_Half kMachine = EM_AARCH64;
constexpr Elf64_Xword kLargeFlag = 0;
#endif

// A string table under construction.
struct Strings {
  std::string text = std::string(1, '\0');
  Elf64_Word add(std::string_view s) {
    const auto at = static_cast<Elf64_Word>(text.size());
    text.append(s).push_back('\0');
    return at;
  }
};

template <class T>
void append(std::string& file, const T& record) {
  file.append(reinterpret_cast<const char*>(&record), sizeof record);
}

void pad(std::string& file, std::uint64_t align) {
  file.resize((file.size() + align - 1) / align * align);
}

class Writer {
 public:
  std::string write(const std::vector<DataSection>& sections) {
    file_.resize(sizeof(Elf64_Ehdr));
    headers_.push_back({});
    symbols_.push_back({});
    for (const DataSection& section : sections) add_data(section);
    // An empty one says that the stack needs not be executable.
    headers_.push_back(header(".note.GNU-stack", SHT_PROGBITS, 0, 1));
    add_symbols();
    headers_.push_back(header(".shstrtab", SHT_STRTAB, 0, 1));  // adds its own name first
    place(headers_.back(), names_.text);
    pad(file_, 8);
    const auto table = static_cast<Elf64_Off>(file_.size());
    for (const Elf64_Shdr& h : headers_) append(file_, h);
    finish(table);
    return std::move(file_);
  }

 private:
  Elf64_Shdr header(std::string_view name, Elf64_Word type, Elf64_Xword flags, Elf64_Xword align) {
    Elf64_Shdr h = {};
    h.sh_name = names_.add(name);
    h.sh_type = type;
    h.sh_flags = flags;
    h.sh_addralign = align;
    return h;
  }

  void place(Elf64_Shdr& h, std::string_view content) {
    pad(file_, h.sh_addralign);
    h.sh_offset = file_.size();
    h.sh_size = content.size();
    file_ += content;
  }

  void add_data(const DataSection& section) {
    const bool reserves = section.content.empty();
    const Elf64_Xword flags =
        SHF_ALLOC | (section.is_large ? kLargeFlag : 0) | (section.is_written ? SHF_WRITE : 0);
    Elf64_Shdr h =
        header(section.section, reserves ? SHT_NOBITS : SHT_PROGBITS, flags, section.align_bytes);
    if (reserves) {
      h.sh_offset = file_.size();
      h.sh_size = section.reserved_bytes;
    } else {
      place(h, section.content);
    }
    Elf64_Sym symbol = {};
    symbol.st_name = symbol_names_.add(section.symbol);
    symbol.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT);
    symbol.st_other = section.is_exported ? STV_DEFAULT : STV_HIDDEN;
    symbol.st_shndx = static_cast<Elf64_Section>(headers_.size());
    symbol.st_size = h.sh_size;
    symbols_.push_back(symbol);
    headers_.push_back(h);
  }

  void add_symbols() {
    Elf64_Shdr h = header(".symtab", SHT_SYMTAB, 0, 8);
    h.sh_link = static_cast<Elf64_Word>(headers_.size() + 1);
    h.sh_info = 1;  // the first that is not local
    h.sh_entsize = sizeof(Elf64_Sym);
    place(h, {reinterpret_cast<const char*>(symbols_.data()), symbols_.size() * sizeof(Elf64_Sym)});
    headers_.push_back(h);
    headers_.push_back(header(".strtab", SHT_STRTAB, 0, 1));
    place(headers_.back(), symbol_names_.text);
  }

  void finish(Elf64_Off section_table) {
    Elf64_Ehdr e = {};
    std::memcpy(e.e_ident, ELFMAG, SELFMAG);
    e.e_ident[EI_CLASS] = ELFCLASS64;
    e.e_ident[EI_DATA] = ELFDATA2LSB;
    e.e_ident[EI_VERSION] = EV_CURRENT;
    e.e_type = ET_REL;
    e.e_machine = kMachine;
    e.e_version = EV_CURRENT;
    e.e_shoff = section_table;
    e.e_ehsize = sizeof(Elf64_Ehdr);
    e.e_shentsize = sizeof(Elf64_Shdr);
    e.e_shnum = static_cast<Elf64_Half>(headers_.size());
    e.e_shstrndx = static_cast<Elf64_Half>(headers_.size() - 1);
    std::memcpy(file_.data(), &e, sizeof e);
  }

  std::string file_;
  Strings names_, symbol_names_;
  std::vector<Elf64_Shdr> headers_;
  std::vector<Elf64_Sym> symbols_;
};

}  // namespace

std::string make_elf_object(const std::vector<DataSection>& sections) {
  return Writer().write(sections);
}

}  // namespace tessera::link
