// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>

#include <zlib.h>

#include "constants/zip.h"

namespace tessera {
namespace {

constexpr std::uint32_t kNarrowMax =
    0xffffffff;                                // in a 32-bit field: the value is in the extra field
constexpr std::uint64_t kMaxInflation = 1032;  // no deflate stream expands further
constexpr std::uint64_t kChunkBytes = 16u << 20;

// Little-endian fields at checked positions.
class Fields {
 public:
  explicit Fields(std::span<const std::byte> bytes) : bytes_(bytes) {}
  bool has(std::uint64_t at, std::uint64_t size) const {
    return at <= bytes_.size() && size <= bytes_.size() - at;
  }
  template <class T>
  T get(std::uint64_t at) const {
    T value{};
    std::memcpy(&value, bytes_.data() + at, sizeof(T));
    return value;
  }
  bool has_signature(std::uint64_t at, std::string_view signature) const {
    return has(at, 4) && std::memcmp(bytes_.data() + at, signature.data(), 4) == 0;
  }
  std::string text(std::uint64_t at, std::uint64_t size) const {
    return std::string(reinterpret_cast<const char*>(bytes_.data()) + at, size);
  }
  std::uint64_t size() const { return bytes_.size(); }
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::span<const std::byte> bytes_;
};

struct Directory {
  std::uint64_t offset = 0, count = 0;
};

// The end record stands before a comment of at most 65535 bytes.
std::optional<Directory> find_directory(const Fields& f) {
  constexpr std::uint64_t kEndBytes = 22, kLocatorBytes = 20;
  for (std::uint64_t back = kEndBytes; back <= std::min<std::uint64_t>(f.size(), kEndBytes + 65535);
       ++back) {
    const std::uint64_t at = f.size() - back;
    if (!f.has_signature(at, "PK\5\6")) continue;
    Directory found{f.get<std::uint32_t>(at + 16), f.get<std::uint16_t>(at + 10)};
    const bool is_wide = at >= kLocatorBytes && f.has_signature(at - kLocatorBytes, "PK\6\7");
    if (!is_wide) return found;
    const auto wide = f.get<std::uint64_t>(at - kLocatorBytes + 8);
    if (!f.has(wide, 56) || !f.has_signature(wide, "PK\6\6")) return std::nullopt;
    return Directory{f.get<std::uint64_t>(wide + 48), f.get<std::uint64_t>(wide + 32)};
  }
  return std::nullopt;
}

struct Entry {
  std::string name;
  std::uint16_t flags = 0, method = 0;
  std::uint32_t checksum = 0;
  std::uint64_t compressed = 0, size = 0, offset = 0;
};

// Takes the 64-bit values of those fields that are at their maximum, in the order of the format.
bool read_wide_fields(const Fields& f, std::uint64_t at, std::uint64_t end, Entry& entry) {
  std::vector<std::uint64_t*> missing;
  for (auto* field : {&entry.size, &entry.compressed, &entry.offset}) {
    if (*field == kNarrowMax) missing.push_back(field);
  }
  while (!missing.empty() && at + 4 <= end) {
    const auto id = f.get<std::uint16_t>(at), size = f.get<std::uint16_t>(at + 2);
    at += 4;
    if (size > end - at) return false;
    if (id == 1) {
      if (size < 8 * missing.size()) return false;
      for (std::size_t i = 0; i < missing.size(); ++i)
        *missing[i] = f.get<std::uint64_t>(at + 8 * i);
      return true;
    }
    at += size;
  }
  return missing.empty();
}

// Reads the directory entry at `at` and moves past it.
std::optional<Entry> read_entry(const Fields& f, std::uint64_t& at) {
  if (!f.has(at, 46) || !f.has_signature(at, "PK\1\2")) return std::nullopt;
  Entry entry;
  entry.flags = f.get<std::uint16_t>(at + 8);
  entry.method = f.get<std::uint16_t>(at + 10);
  entry.checksum = f.get<std::uint32_t>(at + 16);
  entry.compressed = f.get<std::uint32_t>(at + 20);
  entry.size = f.get<std::uint32_t>(at + 24);
  entry.offset = f.get<std::uint32_t>(at + 42);
  const std::uint64_t name = f.get<std::uint16_t>(at + 28), extra = f.get<std::uint16_t>(at + 30),
                      comment = f.get<std::uint16_t>(at + 32);
  if (!f.has(at + 46, name + extra + comment)) return std::nullopt;
  entry.name = f.text(at + 46, name);
  const std::uint64_t extra_at = at + 46 + name;
  if (!read_wide_fields(f, extra_at, extra_at + extra, entry)) return std::nullopt;
  at = extra_at + extra + comment;
  return entry;
}

// The content's checksum; pages of a mapped archive are given back on the way.
std::uint32_t checksum_of(const std::shared_ptr<const Blob>& content) {
  auto crc = static_cast<uLong>(crc32(0, nullptr, 0));
  for (std::uint64_t at = 0; at < content->size_bytes(); at += kChunkBytes) {
    const auto part = Blob::slice(content, at, std::min(kChunkBytes, content->size_bytes() - at));
    crc = crc32_z(crc, reinterpret_cast<const Bytef*>(part->bytes().data()), part->size_bytes());
    if (content->size_bytes() > kChunkBytes) part->release_pages();
  }
  return static_cast<std::uint32_t>(crc);
}

std::shared_ptr<const Blob> inflate_member(std::span<const std::byte> in, std::uint64_t size) {
  std::vector<std::byte> out(size);
  z_stream stream{};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) return nullptr;
  constexpr std::uint64_t kMaxStep = std::numeric_limits<uInt>::max();
  std::uint64_t taken = 0, made = 0;
  int status = Z_OK;
  std::byte nowhere{};  // inflate refuses a null output, which an empty member would have
  while (status == Z_OK) {
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(in.data() + taken));
    stream.avail_in = static_cast<uInt>(std::min(kMaxStep, in.size() - taken));
    stream.next_out = reinterpret_cast<Bytef*>(size == 0 ? &nowhere : out.data() + made);
    stream.avail_out = static_cast<uInt>(std::min(kMaxStep, size - made));
    const uInt offered = stream.avail_in, room = stream.avail_out;
    status = inflate(&stream, Z_NO_FLUSH);
    taken += offered - stream.avail_in;
    made += room - stream.avail_out;
  }
  inflateEnd(&stream);
  return status == Z_STREAM_END && made == size ? Blob::adopt(std::move(out)) : nullptr;
}

// The finding if something is wrong, else nothing and `content`.
std::string read_content(const std::shared_ptr<const Blob>& archive, const Entry& entry,
                         std::shared_ptr<const Blob>& content) {
  const Fields f(archive->bytes());
  if ((entry.flags & 1) != 0) return "it is encrypted";
  if (!f.has(entry.offset, 30) || !f.has_signature(entry.offset, "PK\3\4")) {
    return "its header is missing";
  }
  const std::uint64_t data = entry.offset + 30 + f.get<std::uint16_t>(entry.offset + 26) +
                             f.get<std::uint16_t>(entry.offset + 28);
  if (!f.has(data, entry.compressed)) return "its data reach beyond the end of the file";
  if (entry.method == static_cast<std::uint16_t>(ZipMethod::kStored)) {
    if (entry.compressed != entry.size) return "its sizes contradict each other";
    content = Blob::slice(archive, data, entry.size);
  } else if (entry.method == static_cast<std::uint16_t>(ZipMethod::kDeflated)) {
    if (entry.size / kMaxInflation > entry.compressed) return "its sizes contradict each other";
    content = inflate_member(f.bytes().subspan(data, entry.compressed), entry.size);
    if (content == nullptr) return "its compressed data are damaged";
  } else {
    return fmt::format("its compression method {} is not supported", entry.method);
  }
  return checksum_of(content) == entry.checksum ? "" : "its checksum is wrong";
}

}  // namespace

Result<std::vector<ZipMember>> read_zip(const std::shared_ptr<const Blob>& archive,
                                        const Location& at) {
  const Fields f(archive->bytes());
  const auto directory = find_directory(f);
  if (!directory) return fail(error(Code::kBadNumpyFile, at, "the archive has no directory"));
  std::vector<ZipMember> members;
  std::uint64_t position = directory->offset;
  for (std::uint64_t i = 0; i < directory->count; ++i) {
    const auto entry = read_entry(f, position);
    if (!entry) return fail(error(Code::kBadNumpyFile, at, "the archive's directory is damaged"));
    if (entry->name.ends_with('/') && entry->size == 0) continue;  // a folder
    ZipMember member{entry->name, nullptr};
    if (const auto finding = read_content(archive, *entry, member.content); !finding.empty()) {
      return fail(error(Code::kBadNumpyFile, at, "member `{}`: {}", entry->name, finding));
    }
    members.push_back(std::move(member));
  }
  return members;
}

}  // namespace tessera
