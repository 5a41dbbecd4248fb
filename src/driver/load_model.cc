// SPDX-License-Identifier: Apache-2.0
#include "driver/load_model.h"

#include <iostream>
#include <iterator>

#include "backends/pattern_tables.h"
#include "driver/check_model.h"
#include "import/import_onnx.h"
#include "module/text.h"
#include "ops/inference/infer_types.h"
#include "ops/records/table.h"
#include "relay/patterns/pattern_text.h"
#include "support/files.h"

namespace tessera::driver {

using import::ImportOptions;

Result<std::shared_ptr<const SourceFile>> read_source(const std::string& path) {
  if (path == "-") {
    std::string typed(std::istreambuf_iterator<char>(std::cin), {});
    return std::make_shared<const SourceFile>(path, std::move(typed));
  }
  auto text = read_file(path);
  if (!text) {
    return fail(error(Code::kFileNotFound, {}, "cannot read {}", text.error().text())
                    .with_remedy("check the path"));
  }
  return std::make_shared<const SourceFile>(path, std::move(*text));
}

Result<Module> load_module_text(const std::string& path) {
  TESSERA_TRY(const auto file, read_source(path));
  if (file->text.empty()) {
    return fail(
        error(Code::kFileEmpty, {}, "`{}` is empty", path).with_remedy("write the file again"));
  }
  return parse_module_file(file, ops::operators());
}

Result<std::vector<relay::PatternTable>> load_pattern_tables(
    const std::vector<std::string>& paths) {
  std::vector<relay::PatternTable> tables = backends::pattern_tables();
  for (const std::string& path : paths) {
    TESSERA_TRY(const auto file, read_source(path));
    TESSERA_TRY_VOID(relay::add_patterns(tables, file, ops::operators()));
  }
  return tables;
}

bool is_relay_text(const std::string& path) {
  return path.ends_with(".relay") || path.ends_with(".txt") || path == "-";
}

ImportOptions import_options(const std::vector<DimBinding>& dims, const import::KeptNames& kept,
                             const LimitBindings& limits) {
  ImportOptions options;
  options.kept = kept;
  options.limits = limits;
  for (const DimBinding& d : dims) {
    if (d.size) options.sizes[d.name] = *d.size;
    if (!d.size) options.ranges[d.name] = d.range;
  }
  return options;
}

Result<Module> load_model(const std::string& path, const std::vector<DimBinding>& dims,
                          const import::KeptNames& kept, const LimitBindings& limits) {
  Module module;
  std::vector<DimBinding> open = dims;
  if (is_relay_text(path)) {
    if (kept.all || !kept.names.empty()) {
      return fail(error(Code::kBadOption, {},
                        "--keep-weights: `{}` is Relay text, whose constants have no names", path)
                      .with_remedy("make what is to be set at run time a parameter of `@main`"));
    }
    TESSERA_TRY(module, load_module_text(path));
  } else {
    std::erase_if(open, [](const DimBinding& d) { return d.size.has_value(); });
    TESSERA_TRY(module, import::import_onnx(path, import_options(dims, kept, limits)));
  }
  TESSERA_TRY(module, ops::infer_types(std::move(module)));
  TESSERA_TRY_VOID(check_model(module, path));
  return bind_dimensions(std::move(module), open);
}

}  // namespace tessera::driver
