// SPDX-License-Identifier: Apache-2.0
#include "constants/npy.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>

#include "constants/write_failure.h"
#include "support/check.h"

namespace tessera {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::int64_t kMaxRank = 64;  // NumPy's own limit

struct Header {
  std::string descr;
  bool fortran_order = false;
  std::vector<std::int64_t> shape;
};

// Reads the dictionary `{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }`.
class HeaderParser {
 public:
  explicit HeaderParser(std::string_view text) : rest_(text) {}

  std::optional<Header> parse() {
    if (!take('{')) return std::nullopt;
    while (!take('}')) {
      if (!entry()) return std::nullopt;
      if (take(',')) continue;
      if (!take('}')) return std::nullopt;
      break;
    }
    skip_spaces();
    if (!rest_.empty() || seen_ != 7) return std::nullopt;
    return header_;
  }

 private:
  void skip_spaces() {
    const auto first = rest_.find_first_not_of(" \t\r\n");
    rest_.remove_prefix(std::min(first, rest_.size()));
  }
  bool take(char c) {
    skip_spaces();
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool take_word(std::string_view word) {
    skip_spaces();
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }

  bool entry() {
    std::string key;
    if (!string(key) || !take(':')) return false;
    if (key == "descr") return mark(1) && string(header_.descr);
    if (key == "shape") return mark(2) && shape();
    if (key != "fortran_order" || !mark(4)) return false;
    header_.fortran_order = take_word("True");
    return header_.fortran_order || take_word("False");
  }
  bool mark(unsigned bit) {
    const bool is_new = (seen_ & bit) == 0;
    seen_ |= bit;
    return is_new;
  }
  bool string(std::string& out) {
    skip_spaces();
    if (rest_.empty() || (rest_.front() != '\'' && rest_.front() != '"')) return false;
    const auto end = rest_.find(rest_.front(), 1);
    if (end == std::string_view::npos) return false;
    out = rest_.substr(1, end - 1);
    rest_.remove_prefix(end + 1);
    return true;
  }
  bool shape() {
    if (!take('(')) return false;
    while (!take(')')) {
      skip_spaces();
      std::int64_t size = 0;
      const auto [end, problem] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), size);
      if (problem != std::errc() || size < 0) return false;
      rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
      take('L');  // as Python 2 wrote integers
      header_.shape.push_back(size);
      if (!take(',')) return take(')');
    }
    return true;
  }

  std::string_view rest_;
  Header header_;
  unsigned seen_ = 0;
};

struct Descr {
  std::string_view text;  // without the byte order
  DType dtype;
};
constexpr Descr kDescrs[] = {{"b1", kBool},    {"i1", kInt8},    {"i2", kInt16},   {"i4", kInt32},
                             {"i8", kInt64},   {"u1", kUInt8},   {"u2", kUInt16},  {"u4", kUInt32},
                             {"u8", kUInt64},  {"f2", kFloat16}, {"f4", kFloat32}, {"f8", kFloat64},
                             {"V2", kBFloat16}};

std::optional<DType> dtype_of(std::string_view descr) {
  if (descr.empty() || std::string_view("<>|=").find(descr.front()) == std::string_view::npos) {
    return std::nullopt;
  }
  for (const auto& entry : kDescrs) {
    if (entry.text == descr.substr(1)) return entry.dtype;
  }
  return std::nullopt;
}

// Where the header's text lies; nothing if the start of the file is not that of a .npy file.
struct HeaderRange {
  std::uint64_t begin = 0, end = 0;
};
std::optional<HeaderRange> find_header(std::string_view content) {
  if (!content.starts_with(kMagic) || content.size() < 10) return std::nullopt;
  const int version = content[6];
  if (version < 1 || version > 3) return std::nullopt;
  const std::size_t size_bytes = version == 1 ? 2 : 4;
  if (content.size() < 8 + size_bytes) return std::nullopt;
  std::uint32_t size = 0;
  std::memcpy(&size, content.data() + 8, size_bytes);
  const std::uint64_t begin = 8 + size_bytes;
  if (size > content.size() - begin) return std::nullopt;
  return HeaderRange{begin, begin + size};
}

std::optional<std::uint64_t> checked_bytes(const std::vector<std::int64_t>& shape, DType dtype) {
  std::uint64_t bytes = static_cast<std::uint64_t>(dtype.size_bytes());
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  for (const std::int64_t size : shape) {
    if (__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(size), &bytes))
      return std::nullopt;
  }
  if (bytes > INT64_MAX) return std::nullopt;
  return bytes;
}

// Column-major data in row-major order.
std::vector<std::byte> from_fortran_order(std::span<const std::byte> data,
                                          const std::vector<std::int64_t>& shape,
                                          std::size_t step) {
  std::vector<std::byte> out(data.size());
  std::vector<std::int64_t> index(shape.size(), 0), stride(shape.size(), 1);
  for (std::size_t d = 1; d < shape.size(); ++d) stride[d] = stride[d - 1] * shape[d - 1];
  std::int64_t from = 0;
  for (std::size_t to = 0; to < out.size(); to += step) {
    std::memcpy(&out[to], &data[static_cast<std::size_t>(from) * step], step);
    for (std::size_t d = shape.size(); d-- > 0;) {
      from += stride[d];
      if (++index[d] < shape[d]) break;
      from -= stride[d] * shape[d];
      index[d] = 0;
    }
  }
  return out;
}

}  // namespace

Result<Tensor> parse_npy(const std::shared_ptr<const Blob>& content, const Location& at,
                         std::string_view what) {
  const auto damaged = [&](std::string_view finding) {
    return fail(error(Code::kBadNumpyFile, at, "{}{}{}", what, what.empty() ? "" : ": ", finding)
                    .with_remedy("write it again with numpy.save"));
  };
  const std::string_view text(reinterpret_cast<const char*>(content->bytes().data()),
                              content->size_bytes());
  const auto range = find_header(text);
  if (!range)
    return damaged("this is not a .npy file of version 1 to 3, or its header is truncated");
  const auto header = HeaderParser(text.substr(range->begin, range->end - range->begin)).parse();
  if (!header || header->shape.size() > kMaxRank) {
    return damaged("the header is not a dictionary of `descr`, `fortran_order` and `shape`");
  }
  const auto dtype = dtype_of(header->descr);
  if (!dtype) return damaged(fmt::format("the data type `{}` is not supported", header->descr));
  const auto bytes = checked_bytes(header->shape, *dtype);
  if (!bytes) return damaged("the size of the tensor overflows");
  const std::uint64_t present = content->size_bytes() - range->end;
  if (*bytes > present) {
    return damaged(fmt::format("{} bytes of data are due, {} are there", *bytes, present));
  }
  auto data = Blob::slice(content, range->end, *bytes);
  const auto step = static_cast<std::size_t>(dtype->size_bytes());
  const bool swap = header->descr.front() == '>' && step > 1;
  if (swap || (header->fortran_order && header->shape.size() > 1)) {
    auto copy = header->fortran_order ? from_fortran_order(data->bytes(), header->shape, step)
                                      : std::vector(data->bytes().begin(), data->bytes().end());
    for (std::size_t i = 0; swap && i < copy.size(); i += step) {
      std::reverse(&copy[i], &copy[i] + step);
    }
    data = Blob::adopt(std::move(copy));
  }
  return Tensor(header->shape, *dtype, std::move(data));
}

std::string npy_header(const Tensor& tensor) {
  std::string descr;
  for (const auto& entry : kDescrs) {
    if (entry.dtype != tensor.dtype) continue;
    descr = (tensor.dtype.size_bytes() == 1 ? "|" : "<") + std::string(entry.text);
  }
  TESSERA_CHECK(!descr.empty(), "no NumPy type for {}", to_string(tensor.dtype));
  std::string shape;
  for (const std::int64_t size : tensor.shape) shape += fmt::format("{}, ", size);
  if (tensor.shape.size() > 1) shape.resize(shape.size() - 2);
  if (tensor.shape.size() == 1) shape.resize(shape.size() - 1);
  std::string text =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", descr, shape);
  const std::size_t total = (kMagic.size() + 4 + text.size() + 1 + 63) / 64 * 64;
  text.resize(total - kMagic.size() - 4 - 1, ' ');
  text += '\n';
  TESSERA_CHECK(text.size() < 65536);
  const char lead[] = {1, 0, static_cast<char>(text.size() & 0xff),
                       static_cast<char>(text.size() >> 8)};
  return std::string(kMagic) + std::string(lead, sizeof lead) + text;
}

Result<Tensor> read_npy(const std::string& path) {
  TESSERA_TRY(const auto content, Blob::map_file(path));
  return parse_npy(content, model_node_location(path, ""), "");
}

Result<void> write_npy(const std::string& path, const Tensor& tensor) {
  return reported(write_atomically(path, [&](FileWriter& out) -> FileResult<void> {
    out.write(npy_header(tensor));
    out.write(tensor.blob->bytes());
    return {};
  }));
}

}  // namespace tessera
