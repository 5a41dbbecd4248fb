// SPDX-License-Identifier: Apache-2.0
#include "link/weights.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>

#include <elf.h>

#include "support/check.h"

namespace tessera::link {
namespace {

// How the placeholder is found again: its page begins with this.
constexpr std::string_view kMark = "tessera: the weights' place 5f1c";

template <class T>
T read(const std::string& file, std::uint64_t at) {
  TESSERA_CHECK(at + sizeof(T) <= file.size());
  T record;
  std::memcpy(&record, file.data() + at, sizeof record);
  return record;
}

template <class T>
void write(std::string& file, std::uint64_t at, const T& record) {
  std::memcpy(file.data() + at, &record, sizeof record);
}

std::uint64_t segment_at(const Elf64_Ehdr& elf, int i) {
  return elf.e_phoff + i * sizeof(Elf64_Phdr);
}
std::uint64_t section_at(const Elf64_Ehdr& elf, int i) {
  return elf.e_shoff + i * sizeof(Elf64_Shdr);
}

// The index of the segment that is the last in memory.
int last_segment(const std::string& file, const Elf64_Ehdr& elf) {
  int last = -1;
  for (int i = 0; i < elf.e_phnum; ++i) {
    if (read<Elf64_Phdr>(file, segment_at(elf, i)).p_type == PT_LOAD) last = i;
  }
  return last;
}

// The file offset of the placeholder, if it is what `segment` ends with and nothing else is in
// there.
std::optional<std::uint64_t> find_placeholder(const std::string& file, const Elf64_Phdr& segment) {
  const std::uint64_t at = file.find(kMark, segment.p_offset);
  if (at == std::string::npos || at + kWeightsAlignBytes != segment.p_offset + segment.p_filesz ||
      at - segment.p_offset >= kWeightsAlignBytes || segment.p_filesz != segment.p_memsz) {
    return std::nullopt;
  }
  const std::string_view before(file.data() + segment.p_offset, at - segment.p_offset);
  if (before.find_first_not_of('\0') != std::string_view::npos) return std::nullopt;
  return at;
}

}  // namespace

DataSection weights_placeholder() {
  std::string page(kMark);
  page.resize(kWeightsAlignBytes);
  return {.section = ".lrodata",
          .symbol = "tessera_weights",
          .align_bytes = kWeightsAlignBytes,
          .content = std::move(page),
          .is_large = true};
}

std::vector<DataSection> shared_weights_sections(const SharedWeights& weights) {
  const std::uint64_t pages = (weights.bytes + kWeightsAlignBytes - 1) / kWeightsAlignBytes;
  std::string bytes(sizeof weights.bytes, '\0');
  write(bytes, 0, weights.bytes);
  return {{.section = ".lbss",
           .symbol = "tessera_weights",
           .align_bytes = kWeightsAlignBytes,
           .content = {},
           .reserved_bytes = pages * kWeightsAlignBytes,
           .is_large = true,
           .is_written = true},
          {.section = ".rodata.tessera.shared.bytes",
           .symbol = "tessera_shared_weights_bytes",
           .align_bytes = sizeof weights.bytes,
           .content = bytes},
          {.section = ".rodata.tessera.shared.file",
           .symbol = "tessera_shared_weights_file",
           .content = weights.path + '\0'}};
}

Result<std::uint64_t> make_room_for_weights(std::string& library, std::uint64_t bytes) {
  const auto elf = read<Elf64_Ehdr>(library, 0);
  const int index = last_segment(library, elf);
  TESSERA_CHECK(index >= 0, "a library without segments");
  auto segment = read<Elf64_Phdr>(library, segment_at(elf, index));
  const auto at = find_placeholder(library, segment);
  if (!at) {
    return fail(
        error(Code::kToolFailed, nullptr,
              "the linker did not put the weights into a segment of their own after all others")
            .with_remedy("install GNU binutils, so that there is an `ld.bfd`"));
  }
  const Elf64_Addr address = segment.p_vaddr + (*at - segment.p_offset);
  const Elf64_Addr old_begin = segment.p_vaddr, old_end = segment.p_vaddr + segment.p_filesz;
  const std::uint64_t page = std::max<std::uint64_t>(segment.p_align, kWeightsAlignBytes);
  const std::uint64_t offset = (library.size() + page - 1) / page * page + address % page;
  segment.p_vaddr = segment.p_paddr = address;
  segment.p_offset = offset;
  segment.p_filesz = segment.p_memsz = bytes;
  segment.p_flags = PF_R;
  write(library, segment_at(elf, index), segment);
  for (int i = 0; i < elf.e_shnum; ++i) {
    auto section = read<Elf64_Shdr>(library, section_at(elf, i));
    if (section.sh_addr < old_begin || section.sh_addr >= old_end) continue;
    section.sh_addr = address;
    section.sh_offset = offset;
    section.sh_size = bytes;
    section.sh_addralign = kWeightsAlignBytes;
    write(library, section_at(elf, i), section);
  }
  return offset;
}

void write_weights(FileWriter& file, const std::vector<WeightPiece>& pieces, std::uint64_t bytes) {
  constexpr std::uint64_t kStepBytes = 16 << 20;
  static const std::vector<std::byte> zeros(1 << 16);
  const std::uint64_t begin = file.position();
  const auto fill_to = [&](std::uint64_t offset) {
    while (file.position() - begin < offset) {
      const std::uint64_t missing = offset - (file.position() - begin);
      file.write(std::span(zeros).first(std::min<std::uint64_t>(missing, zeros.size())));
    }
  };
  for (const WeightPiece& piece : pieces) {
    TESSERA_CHECK(file.position() - begin <= piece.offset, "pieces of weights overlap");
    fill_to(piece.offset);
    for (std::uint64_t done = 0; done < piece.blob->size_bytes(); done += kStepBytes) {
      const std::uint64_t step = std::min(kStepBytes, piece.blob->size_bytes() - done);
      file.write(piece.blob->bytes().subspan(done, step));
    }
    piece.blob->release_pages();
  }
  fill_to(bytes);
}

}  // namespace tessera::link
