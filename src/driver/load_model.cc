// SPDX-License-Identifier: Apache-2.0
#include "driver/load_model.h"

#include <charconv>
#include <iostream>
#include <iterator>

#include "backends/pattern_tables.h"
#include "import/import_onnx.h"
#include "module/text.h"
#include "ops/infer_types.h"
#include "ops/table.h"
#include "relay/pattern_text.h"
#include "support/files.h"

namespace tessera::driver {
namespace {

std::optional<std::int64_t> number(std::string_view text) {
  std::int64_t value = 0;
  const auto r = std::from_chars(text.data(), text.data() + text.size(), value);
  if (r.ec != std::errc() || r.ptr != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

// "1..512" or "1..512:128"
bool parse_range(std::string_view text, Symbol& range) {
  const std::size_t dots = text.find("..");
  if (dots == std::string_view::npos) return false;
  const std::size_t colon = text.find(':', dots);
  const auto low = number(text.substr(0, dots));
  const auto high =
      number(text.substr(dots + 2, colon == std::string_view::npos ? colon : colon - dots - 2));
  if (!low || !high || *low > *high) return false;
  range.min = *low;
  range.max = *high;
  if (colon == std::string_view::npos) return true;
  range.likely = number(text.substr(colon + 1));
  return range.likely && *range.likely >= *low && *range.likely <= *high;
}

Result<std::string> read_text(const std::string& path) {
  if (path == "-") {
    return std::string(std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>());
  }
  auto text = read_file(path);
  if (!text) {
    return fail(error(Code::kFileNotFound, {}, "cannot read {}", text.error().text())
                    .with_remedy("check the path"));
  }
  return std::move(*text);
}

}  // namespace

Result<DimBinding> parse_dim_binding(const std::string& text) {
  const std::size_t equals = text.find('=');
  DimBinding binding;
  if (equals != std::string::npos && equals > 0) {
    binding.name = text.substr(0, equals);
    binding.range.name = binding.name;
    const std::string_view value = std::string_view(text).substr(equals + 1);
    binding.size = number(value);
    if (binding.size || parse_range(value, binding.range)) return binding;
  }
  return fail(
      error(Code::kBadOption, {}, "--dim {} is neither NAME=SIZE nor NAME=MIN..MAX[:LIKELY]", text)
          .with_remedy("for example --dim batch=1 --dim seq=1..512:128"));
}

Result<Module> load_module_text(const std::string& path) {
  TESSERA_TRY(std::string text, read_text(path));
  if (text.empty()) {
    return fail(
        error(Code::kFileEmpty, {}, "`{}` is empty", path).with_remedy("write the file again"));
  }
  const auto file = std::make_shared<const SourceFile>(SourceFile{path, std::move(text)});
  return parse_module(file, ops::operators());
}

Result<std::vector<relay::PatternTable>> load_pattern_tables(
    const std::vector<std::string>& paths) {
  std::vector<relay::PatternTable> tables = backends::pattern_tables();
  for (const std::string& path : paths) {
    TESSERA_TRY(std::string text, read_text(path));
    const auto file = std::make_shared<const SourceFile>(SourceFile{path, std::move(text)});
    TESSERA_TRY_VOID(relay::add_patterns(tables, file, ops::operators()));
  }
  return tables;
}

Result<Module> load_model(const std::string& path, const std::vector<DimBinding>& dims) {
  Module module;
  if (path.ends_with(".relay") || path.ends_with(".txt") || path == "-") {
    TESSERA_TRY(module, load_module_text(path));
  } else {
    import::ImportOptions options;
    for (const DimBinding& d : dims) {
      if (d.size) {
        options.sizes[d.name] = *d.size;
      } else {
        options.ranges[d.name] = d.range;
      }
    }
    TESSERA_TRY(module, import::import_onnx(path, options));
  }
  return ops::infer_types(std::move(module));
}

}  // namespace tessera::driver
