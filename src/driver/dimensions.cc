// SPDX-License-Identifier: Apache-2.0
#include "driver/dimensions.h"

#include <algorithm>
#include <charconv>
#include <set>

#include <fmt/ranges.h>

#include "module/symbol_names.h"
#include "ops/inference/infer_types.h"
#include "relay/text/parse_value.h"
#include "tir/evaluate.h"
#include "tir/names.h"
#include "types/likely_size.h"

namespace tessera::driver {
namespace {

using relay::Function;
using relay::NodeId;

std::optional<std::int64_t> number(std::string_view text) {
  std::int64_t value = 0;
  const auto r = std::from_chars(text.data(), text.data() + text.size(), value);
  if (r.ec != std::errc() || r.ptr != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

// A type with every dimension replaced; `f` gets the dimension and its place.
template <class F>
Type map_dims(const Type& type, F& f) {
  if (type.is_tuple()) {
    std::vector<Type> fields;
    for (const Type& field : type.fields()) fields.push_back(map_dims(field, f));
    return tuple_type(std::move(fields));
  }
  if (!type.is_tensor()) return type;
  Shape shape;
  for (std::size_t i = 0; i < type.rank(); ++i) shape.push_back(f(type.shape()[i], i));
  return tensor_type(std::move(shape), type.dtype());
}

// Symbols in the place of the file's names for them.
std::vector<DimBinding> by_symbol(std::vector<DimBinding> dims,
                                  const std::map<std::string, std::string>& names) {
  for (DimBinding& d : dims) {
    for (const auto& [symbol, name] : names) {
      if (name != d.name) continue;
      d.name = d.range.name = symbol;
      break;
    }
  }
  return dims;
}

std::string shown(const std::string& symbol, const std::map<std::string, std::string>& names) {
  const auto it = names.find(symbol);
  return it == names.end() ? symbol : it->second;
}

class Binder {
 public:
  Binder(Module& module, const std::vector<DimBinding>& dims) : module_(module) {
    for (const DimBinding& d : dims) {
      if (d.size) sizes_[d.name] = *d.size;
    }
  }

  void run(Function& main) {
    for (const NodeId param : main.params()) {
      const std::string name = main.as<relay::Param>(param)->name;
      auto bind = [&](const Dim& dim, std::size_t axis) { return bound(dim, name, axis); };
      const Type type = map_dims(main.type(param), bind);
      main.set_annotation(param, type);
      for (const Type& tensor : flatten(type)) {
        for (const Dim& dim : tensor.shape()) {
          if (is_plain_symbol(dim)) stated_.insert(dim.symbols().front());
        }
      }
    }
  }

  const std::set<std::string>& used() const { return used_; }
  const std::set<std::string>& stated() const { return stated_; }

 private:
  static bool is_plain_symbol(const Dim& dim) {
    return dim.is_symbolic() && is_symbol_name(dim.expression_text());
  }

  Dim bound(const Dim& dim, const std::string& param, std::size_t axis) {
    if (dim.is_unknown()) return fresh(fmt::format("{}_{}", param, axis)).substitute(sizes_);
    for (const std::string& symbol : dim.symbols()) {
      used_.insert(symbol);
      module_.symbols.try_emplace(symbol, Symbol{symbol, 1, -1, 1, std::nullopt});
    }
    return dim.substitute(sizes_);
  }

  // Nothing is known of it, so it may be 0.
  Dim fresh(const std::string& hint) {
    const std::string base = tir::identifier(hint);
    std::string name = base;
    for (int n = 1; module_.symbols.contains(name); ++n) name = fmt::format("{}_{}", base, n);
    module_.symbols.emplace(name, Symbol{name, 0, -1, 1, std::nullopt});
    used_.insert(name);
    return Dim::symbol(name);
  }

  Module& module_;
  std::map<std::string, Dim> sizes_;
  std::set<std::string> used_, stated_;  // symbols; those that are the size of some dimension
};

Diagnostic no_such_symbol(const DimBinding& d, const std::set<std::string>& symbols,
                          const std::map<std::string, std::string>& names) {
  std::set<std::string> known;
  for (const std::string& symbol : symbols) known.insert(shown(symbol, names));
  const std::string list = known.empty() ? "none" : fmt::format("`{}`", fmt::join(known, "`, `"));
  return error(Code::kBadOption, {},
               "--dim {}: the model has no symbolic dimension `{}`; it has {}", d.name, d.name,
               list)
      .with_remedy("`tessera inspect` lists the model's inputs");
}

}  // namespace

Result<DimBinding> parse_dim_binding(const std::string& text) {
  const std::size_t equals = text.rfind('=');  // a model may call a dimension `a=b`
  if (equals != std::string::npos && equals > 0) {
    DimBinding binding{
        text.substr(0, equals), number(std::string_view(text).substr(equals + 1)), {}};
    if (binding.size) return binding;
    if (text.find("..", equals) != std::string::npos) {
      auto range = relay::parse_symbol("size" + text.substr(equals));
      if (!range) {
        return fail(error(Code::kBadOption, {}, "--dim {}: {}", text, range.error())
                        .with_remedy("for example --dim seq=1..512:128"));
      }
      binding.range = std::move(*range);
      binding.range.name = binding.name;
      return binding;
    }
  }
  return fail(error(Code::kBadOption, {},
                    "--dim {} is neither NAME=SIZE nor NAME=MIN..MAX[step STEP][:LIKELY]", text)
                  .with_remedy("for example --dim batch=1 --dim seq=1..512:128"));
}

Result<std::vector<DimBinding>> parse_dim_bindings(std::span<const std::string> texts) {
  std::vector<DimBinding> dims;
  std::set<std::string> names;
  for (const std::string& text : texts) {
    TESSERA_TRY(DimBinding binding, parse_dim_binding(text));
    if (!names.insert(binding.name).second) {
      return fail(
          error(Code::kBadOption, {}, "--dim {}: `{}` is given more than once", text, binding.name)
              .with_remedy("give each dimension one size or range"));
    }
    dims.push_back(std::move(binding));
  }
  return dims;
}

Result<Module> bind_dimensions(Module module, const std::vector<DimBinding>& given) {
  const auto main = module.functions.find("main");
  if (main == module.functions.end()) return module;
  const std::map<std::string, std::string> names = symbol_names(main->second);
  const std::vector<DimBinding> dims = by_symbol(given, names);
  for (const DimBinding& d : dims) {
    if (!d.size) module.symbols[d.name] = d.range;
  }
  Binder binder(module, dims);
  binder.run(main->second);
  Diagnostics errors;
  for (const DimBinding& d : dims) {
    if (!binder.used().contains(d.name)) errors.add(no_such_symbol(d, binder.used(), names));
    if (d.size) module.symbols.erase(d.name);
  }
  for (const std::string& symbol : binder.used()) {
    if (!module.symbols.contains(symbol) || binder.stated().contains(symbol)) continue;
    errors.add(error(Code::kNotSupported, {},
                     "the size `{}` cannot be read off the inputs: no dimension is `{}` itself",
                     shown(symbol, names), shown(symbol, names))
                   .with_remedy("give it a number: --dim " + shown(symbol, names) + "=..."));
  }
  if (!errors.empty()) return fail(std::move(errors));
  return ops::infer_types(std::move(module));
}

std::vector<std::vector<std::int64_t>> likely_input_shapes(const tir::PrimFunc& main,
                                                           const SymbolTable& symbols) {
  tir::Evaluator sizes;
  for (const tir::Expr& dim : main.dims) {
    const auto symbol = symbols.find(dim.as<tir::Var>()->name);
    sizes.set(dim, tir::int_imm(symbol == symbols.end() ? 1 : likely_size(symbol->second)));
  }
  std::vector<std::vector<std::int64_t>> shapes;
  for (const tir::Buffer& input : main.inputs) {
    auto& shape = shapes.emplace_back();
    for (const tir::Expr& e : input->shape) shape.push_back(sizes.index(e));
  }
  return shapes;
}

std::vector<std::vector<std::int64_t>> largest_input_shapes(const tir::PrimFunc& main,
                                                            SymbolTable symbols) {
  for (auto& [name, symbol] : symbols) {
    if (symbol.max < 0) continue;
    symbol.likely = symbol.min + (symbol.max - symbol.min) / symbol.step * symbol.step;
  }
  return likely_input_shapes(main, symbols);
}

}  // namespace tessera::driver
