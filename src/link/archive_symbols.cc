// SPDX-License-Identifier: Apache-2.0
#include "link/archive_symbols.h"

#include <charconv>
#include <cstdint>

namespace tessera::link {
namespace {

constexpr std::string_view kMagic = "!<arch>\n";
constexpr std::size_t kHeaderBytes = 60, kSizeAt = 48, kSizeDigits = 10;

std::uint64_t big_endian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (const char c : bytes) value = value << 8 | static_cast<unsigned char>(c);
  return value;
}

// A number of offsets, these, and as many names, each with a zero after it.
std::optional<std::set<std::string>> read_index(std::string_view index, std::size_t word_bytes) {
  if (index.size() < word_bytes) return std::nullopt;
  const std::uint64_t count = big_endian(index.substr(0, word_bytes));
  index.remove_prefix(word_bytes);
  if (count > index.size() / word_bytes) return std::nullopt;
  index.remove_prefix(count * word_bytes);
  std::set<std::string> names;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::size_t end = index.find('\0');
    if (end == std::string_view::npos) return std::nullopt;
    names.emplace(index.substr(0, end));
    index.remove_prefix(end + 1);
  }
  return names;
}

}  // namespace

std::optional<std::set<std::string>> archive_symbols(std::string_view archive) {
  if (!archive.starts_with(kMagic) || archive.size() < kMagic.size() + kHeaderBytes) {
    return std::nullopt;
  }
  archive.remove_prefix(kMagic.size());
  const bool is_wide = archive.starts_with("/SYM64/ ");
  if (!is_wide && !archive.starts_with("/ ")) return std::nullopt;
  std::uint64_t size = 0;
  const char* digits = archive.data() + kSizeAt;
  if (std::from_chars(digits, digits + kSizeDigits, size).ec != std::errc()) return std::nullopt;
  archive.remove_prefix(kHeaderBytes);
  if (size > archive.size()) return std::nullopt;
  return read_index(archive.substr(0, size), is_wide ? 8 : 4);
}

}  // namespace tessera::link
