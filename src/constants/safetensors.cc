// SPDX-License-Identifier: Apache-2.0
#include "constants/safetensors.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <set>

#include <nlohmann/json.hpp>

namespace tessera {
namespace {

using Json = nlohmann::json;

constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;  // the limit that the format sets

struct DTypeName {
  std::string_view text;
  DType dtype;
};
constexpr DTypeName kDTypeNames[] = {
    {"BOOL", kBool},   {"U8", kUInt8},      {"I8", kInt8},   {"I16", kInt16},  {"U16", kUInt16},
    {"F16", kFloat16}, {"BF16", kBFloat16}, {"I32", kInt32}, {"U32", kUInt32}, {"F32", kFloat32},
    {"F64", kFloat64}, {"I64", kInt64},     {"U64", kUInt64}};

struct Entry {
  std::string name;
  DType dtype;
  std::vector<std::int64_t> shape;
  std::uint64_t begin = 0, end = 0;
};

// A whole number that fits into an int64.
std::optional<std::int64_t> whole_number(const Json& json) {
  if (!json.is_number_unsigned() || json.get<std::uint64_t>() > INT64_MAX) return std::nullopt;
  return json.get<std::int64_t>();
}

std::optional<std::vector<std::int64_t>> whole_numbers(const Json& object, const char* key) {
  const auto it = object.find(key);
  if (it == object.end() || !it->is_array()) return std::nullopt;
  std::vector<std::int64_t> numbers;
  for (const auto& item : *it) {
    const auto number = whole_number(item);
    if (!number) return std::nullopt;
    numbers.push_back(*number);
  }
  return numbers;
}

class HeaderReader {
 public:
  HeaderReader(const Location& at, std::uint64_t data_bytes) : at_(at), data_bytes_(data_bytes) {}

  Result<std::vector<Entry>> read(std::string_view text) {
    const Json header = parse(text);
    if (!header.is_object()) {
      return fail(error(Code::kBadSafetensors, at_, "the header is not a JSON object"));
    }
    std::vector<Entry> entries;
    for (const auto& [name, json] : header.items()) {
      if (name == "__metadata__") continue;
      if (auto entry = read_entry(name, json)) entries.push_back(*std::move(entry));
    }
    if (problems_.empty()) check_layout(entries);
    if (!problems_.empty()) return fail(std::move(problems_));
    return entries;
  }

 private:
  template <class... A>
  void problem(const std::string& name, fmt::format_string<A...> text, A&&... args) {
    problems_.add(error(Code::kBadSafetensors, at_, "tensor `{}`: {}", name,
                        fmt::format(text, std::forward<A>(args)...)));
  }

  // Reports repeated names, of which a JSON object would silently keep one.
  Json parse(std::string_view text) {
    std::set<std::string> names;
    const auto on_event = [&](int depth, Json::parse_event_t event, Json& parsed) {
      if (event == Json::parse_event_t::key && depth == 1) {
        const auto name = parsed.get<std::string>();
        if (!names.insert(name).second) problem(name, "the name is there twice");
      }
      return true;
    };
    return Json::parse(text, on_event, false);
  }

  std::optional<Entry> read_entry(const std::string& name, const Json& json) {
    const auto shape = json.is_object() ? whole_numbers(json, "shape") : std::nullopt;
    const auto offsets = json.is_object() ? whole_numbers(json, "data_offsets") : std::nullopt;
    if (!shape || !offsets || offsets->size() != 2 || !json.contains("dtype") ||
        !json["dtype"].is_string()) {
      problem(name, "its entry has no valid `dtype`, `shape` and `data_offsets`");
      return std::nullopt;
    }
    const auto dtype_text = json["dtype"].get<std::string>();
    const auto known = std::find_if(std::begin(kDTypeNames), std::end(kDTypeNames),
                                    [&](const DTypeName& d) { return d.text == dtype_text; });
    if (known == std::end(kDTypeNames)) {
      problem(name, "the data type `{}` is not supported", dtype_text);
      return std::nullopt;
    }
    Entry entry{name, known->dtype, *shape, static_cast<std::uint64_t>((*offsets)[0]),
                static_cast<std::uint64_t>((*offsets)[1])};
    if (!check_size(entry)) return std::nullopt;
    return entry;
  }

  bool check_size(const Entry& entry) {
    if (entry.begin > entry.end || entry.end > data_bytes_) {
      problem(entry.name, "its offsets {}..{} do not lie inside the {} bytes of data", entry.begin,
              entry.end, data_bytes_);
      return false;
    }
    auto bytes = static_cast<std::uint64_t>(entry.dtype.size_bytes());
    const bool is_empty = std::find(entry.shape.begin(), entry.shape.end(), 0) != entry.shape.end();
    for (const std::int64_t size : entry.shape) {
      if (is_empty) break;
      if (__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(size), &bytes)) {
        problem(entry.name, "its size overflows");
        return false;
      }
    }
    if ((is_empty ? 0 : bytes) == entry.end - entry.begin) return true;
    problem(entry.name, "its shape and type take {} bytes, its offsets hold {}",
            is_empty ? 0 : bytes, entry.end - entry.begin);
    return false;
  }

  // Data must neither overlap nor leave gaps: the format demands it, against hidden content.
  void check_layout(std::vector<Entry>& entries) {
    std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
      return std::tie(a.begin, a.end) < std::tie(b.begin, b.end);
    });
    std::uint64_t end = 0;
    for (const auto& entry : entries) {
      if (entry.begin < end) problem(entry.name, "its data overlap those of another tensor");
      if (entry.begin > end)
        problem(entry.name, "{} bytes before it are unused", entry.begin - end);
      end = std::max(end, entry.end);
    }
    if (end != data_bytes_) {
      problems_.add(
          error(Code::kBadSafetensors, at_, "{} bytes at the end are unused", data_bytes_ - end));
    }
  }

  const Location& at_;
  std::uint64_t data_bytes_;
  Diagnostics problems_;
};

}  // namespace

Result<std::map<std::string, Tensor>> read_safetensors(const std::string& path) {
  TESSERA_TRY(const auto file, Blob::map_file(path));
  const Location at = model_node_location(path, "");
  std::uint64_t header_bytes = 0;
  if (file->size_bytes() < sizeof header_bytes) {
    return fail(error(Code::kBadSafetensors, at, "the file is too short for a header"));
  }
  std::memcpy(&header_bytes, file->bytes().data(), sizeof header_bytes);
  const std::uint64_t rest = file->size_bytes() - sizeof header_bytes;
  if (header_bytes > rest || header_bytes > kMaxHeaderBytes) {
    return fail(error(Code::kBadSafetensors, at,
                      "a header of {} bytes is announced, but {} bytes follow (and at most {} are "
                      "allowed)",
                      header_bytes, rest, kMaxHeaderBytes));
  }
  const std::string_view text(reinterpret_cast<const char*>(file->bytes().data()) + 8,
                              header_bytes);
  TESSERA_TRY(const auto entries, HeaderReader(at, rest - header_bytes).read(text));
  std::map<std::string, Tensor> tensors;
  for (const auto& entry : entries) {
    auto blob = Blob::slice(file, 8 + header_bytes + entry.begin, entry.end - entry.begin);
    tensors.emplace(entry.name, Tensor(entry.shape, entry.dtype, std::move(blob)));
  }
  return tensors;
}

}  // namespace tessera
