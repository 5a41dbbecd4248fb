// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <zlib.h>

#include "constants/zip.h"
#include "support/check.h"

namespace tessera {
namespace {

constexpr std::uint32_t kNarrowMax = 0xffffffff;
constexpr std::uint16_t kVersion = 45;         // the first with 64-bit sizes
constexpr std::uint16_t kUtf8Names = 1 << 11;  // flag
constexpr std::uint32_t kEpoch = 0x00210000;   // 1 January 1980, 0:00
constexpr std::uint64_t kAlignBytes = 64;
constexpr std::uint16_t kPaddingId = 0xd935;  // the extra field that Android's zipalign uses

template <class T>
void put(std::string& out, T value) {
  for (std::size_t i = 0; i < sizeof(T); ++i) out += static_cast<char>((value >> (8 * i)) & 0xff);
}

std::uint32_t narrow(std::uint64_t value) {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(value, kNarrowMax));
}

// The extra field with those values that do not fit into 32 bits.
std::string wide_fields(std::initializer_list<std::uint64_t> values) {
  std::string wide, out;
  for (const auto value : values) {
    if (value >= kNarrowMax) put(wide, value);
  }
  if (wide.empty()) return out;
  put<std::uint16_t>(out, 1);
  put(out, static_cast<std::uint16_t>(wide.size()));
  return out + wide;
}

std::uint32_t checksum_of(std::string_view header, std::span<const std::byte> data) {
  auto crc = crc32(0, nullptr, 0);
  crc = crc32_z(crc, reinterpret_cast<const Bytef*>(header.data()), header.size());
  if (data.empty()) return static_cast<std::uint32_t>(crc);  // a null pointer would start anew
  crc = crc32_z(crc, reinterpret_cast<const Bytef*>(data.data()), data.size());
  return static_cast<std::uint32_t>(crc);
}

// Runs the stream over one piece of input, appending what comes out.
void deflate_piece(z_stream& stream, std::span<const std::byte> in, int flush,
                   std::vector<std::byte>& out) {
  constexpr std::size_t kStep = 1 << 30;
  std::vector<std::byte> buffer(1 << 16);
  do {
    const std::size_t step = std::min(kStep, in.size());
    const bool last = step == in.size();
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(in.data()));
    stream.avail_in = static_cast<uInt>(step);
    in = in.subspan(step);
    do {
      stream.next_out = reinterpret_cast<Bytef*>(buffer.data());
      stream.avail_out = static_cast<uInt>(buffer.size());
      const int status = deflate(&stream, last ? flush : Z_NO_FLUSH);
      TESSERA_CHECK(status != Z_STREAM_ERROR);
      out.insert(out.end(), buffer.begin(),
                 buffer.end() - static_cast<std::ptrdiff_t>(stream.avail_out));
    } while (stream.avail_out == 0);
  } while (!in.empty());
}

std::vector<std::byte> deflate_content(std::string_view header, std::span<const std::byte> data) {
  z_stream stream{};
  TESSERA_CHECK(deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, -MAX_WBITS, 8,
                             Z_DEFAULT_STRATEGY) == Z_OK);
  std::vector<std::byte> out;
  deflate_piece(stream, std::as_bytes(std::span(header)), Z_NO_FLUSH, out);
  deflate_piece(stream, data, Z_FINISH, out);
  deflateEnd(&stream);
  return out;
}

}  // namespace

void ZipWriter::write_local_header(const Entry& entry) {
  // With 64-bit sizes the format wants both of them here.
  const bool is_wide = entry.size >= kNarrowMax || entry.compressed >= kNarrowMax;
  std::string extra;
  if (is_wide) {
    put<std::uint16_t>(extra, 1);
    put<std::uint16_t>(extra, 16);
    put(extra, entry.size);
    put(extra, entry.compressed);
  }
  if (entry.method == ZipMethod::kStored) {
    const std::uint64_t start = out_.position() + 30 + entry.name.size() + extra.size() + 4;
    const std::uint64_t padding = (kAlignBytes - start % kAlignBytes) % kAlignBytes;
    put(extra, kPaddingId);
    put(extra, static_cast<std::uint16_t>(padding));
    extra.append(padding, '\0');
  }
  std::string out = "PK\3\4";
  put(out, kVersion);
  put(out, kUtf8Names);
  put(out, static_cast<std::uint16_t>(entry.method));
  put(out, kEpoch);
  put(out, entry.checksum);
  put(out, is_wide ? kNarrowMax : narrow(entry.compressed));
  put(out, is_wide ? kNarrowMax : narrow(entry.size));
  put(out, static_cast<std::uint16_t>(entry.name.size()));
  put(out, static_cast<std::uint16_t>(extra.size()));
  out_.write(out + entry.name + extra);
}

void ZipWriter::add(const std::string& name, std::string_view header,
                    std::span<const std::byte> data, ZipMethod method) {
  TESSERA_CHECK(name.size() <= 0xffff, "a member's name has {} bytes", name.size());
  Entry entry{name,           method, checksum_of(header, data), 0, header.size() + data.size(),
              out_.position()};
  if (method == ZipMethod::kStored) {
    entry.compressed = entry.size;
    write_local_header(entry);
    out_.write(header);
    out_.write(data);
  } else {
    const auto compressed = deflate_content(header, data);
    entry.compressed = compressed.size();
    write_local_header(entry);
    out_.write(compressed);
  }
  entries_.push_back(std::move(entry));
}

void ZipWriter::write_central_header(const Entry& entry) {
  const std::string extra = wide_fields({entry.size, entry.compressed, entry.offset});
  std::string out = "PK\1\2";
  put(out, kVersion);
  put(out, kVersion);
  put(out, kUtf8Names);
  put(out, static_cast<std::uint16_t>(entry.method));
  put(out, kEpoch);
  put(out, entry.checksum);
  put(out, narrow(entry.compressed));
  put(out, narrow(entry.size));
  put(out, static_cast<std::uint16_t>(entry.name.size()));
  put(out, static_cast<std::uint16_t>(extra.size()));
  put<std::uint16_t>(out, 0);  // comment
  put<std::uint16_t>(out, 0);  // disk
  put<std::uint16_t>(out, 0);  // internal attributes
  put<std::uint32_t>(out, 0);  // external attributes
  put(out, narrow(entry.offset));
  out_.write(out + entry.name + extra);
}

void ZipWriter::finish() {
  const std::uint64_t begin = out_.position();
  for (const auto& entry : entries_) write_central_header(entry);
  const std::uint64_t end = out_.position(), count = entries_.size();
  std::string out;
  if (begin >= kNarrowMax || end - begin >= kNarrowMax || count >= 0xffff) {
    out += "PK\6\6";
    put<std::uint64_t>(out, 44);  // bytes of this record that follow
    put(out, kVersion);
    put(out, kVersion);
    put<std::uint64_t>(out, 0);  // disks
    put(out, count);
    put(out, count);
    put(out, end - begin);
    put(out, begin);
    out += "PK\6\7";
    put<std::uint32_t>(out, 0);
    put(out, end);
    put<std::uint32_t>(out, 1);
  }
  const auto narrow_count = static_cast<std::uint16_t>(std::min<std::uint64_t>(count, 0xffff));
  out += "PK\5\6";
  put<std::uint32_t>(out, 0);  // disks
  put(out, narrow_count);
  put(out, narrow_count);
  put(out, narrow(end - begin));
  put(out, narrow(begin));
  put<std::uint16_t>(out, 0);  // comment
  out_.write(out);
}

}  // namespace tessera
