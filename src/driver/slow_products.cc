// SPDX-License-Identifier: Apache-2.0
#include "driver/slow_products.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "module/symbol_names.h"
#include "relay/function_attributes.h"
#include "relay/operator.h"
#include "types/dim_expr.h"
#include "types/likely_size.h"
#include "types/target_list.h"

namespace tessera::driver {
namespace {

using relay::Function;
using relay::NodeId;
using Sizes = std::map<std::string, Dim>;

constexpr std::size_t kShown = 3;

struct Product {
  std::string op;
  Location source;
  double multiplications;
  bool has_unknown_size;
};

double number(const Dim& size, const Sizes& likely) {
  return static_cast<double>(likely_value(size, likely));
}

double elements(const Type& tensor, const Sizes& likely) {
  double product = 1;
  for (const Dim& size : tensor.shape()) product *= number(size, likely);
  return product;
}

// Takes weights of convolutions to begin with the channels of the result, or transposed of the
// data, and products to transpose nothing: what is told is an order of magnitude.
double multiplications(const Function& f, NodeId call, const Sizes& likely) {
  const Type& data = f.type(f.operands(call)[0]);
  const Type& weights = f.type(f.operands(call)[1]);
  const std::string_view op = f.op(call)->name;
  if (!op.starts_with("nn.conv")) {
    return elements(f.type(call), likely) * number(data.shape().back(), likely);
  }
  const double a_channel = elements(weights, likely) / number(weights.shape().front(), likely);
  return elements(op.ends_with("_transpose") ? data : f.type(call), likely) * a_channel;
}

bool has_tensors(const Function& f, NodeId call) {
  const auto operands = f.operands(call);
  if (operands.size() < 2 || !f.type(call).is_tensor()) return false;
  return std::all_of(operands.begin(), operands.begin() + 2,
                     [&](NodeId id) { return f.type(id).is_tensor() && f.type(id).rank() > 0; });
}

bool is_unknown(const Type& tensor) { return tensor.is_tensor() && !has_names(tensor.shape()); }

bool is_native(const Function& f) {
  return f.attrs.find("Compiler") == nullptr && f.attrs.find("Extern") == nullptr;
}

// By a matrix that is known, of known sizes: on a CPU generated code keeps pace with libraries
// (bench/results/2026-11-27-native-products-cpu.md).
bool keeps_pace(const Function& f, NodeId call) {
  const auto operands = f.operands(call);
  return !f.op(call)->name.starts_with("nn.conv") && f.type(call).dtype() == kFloat32 &&
         f.as<relay::Constant>(operands[1]) != nullptr &&
         constant_shape(f.type(operands[0]).shape());
}

// The most multiplications first.
std::vector<Product> native_products(const Module& placed) {
  const Sizes likely = likely_sizes(placed.symbols);
  const bool on_cpu = is_on_host(compute_space(placed.targets));
  std::vector<Product> products;
  for (const auto& [name, f] : placed.functions) {
    if (!is_native(f)) continue;
    for (std::size_t i = 0; i < f.num_nodes(); ++i) {
      const NodeId id(i);
      if (f.op(id) == nullptr || !is_product(f.op(id)->name) || !has_tensors(f, id)) continue;
      if (on_cpu && keeps_pace(f, id)) continue;
      const double count = multiplications(f, id, likely);
      if (count < kManyMultiplications) continue;
      const auto operands = f.operands(id);
      const bool unknown = is_unknown(f.type(id)) || is_unknown(f.type(operands[0])) ||
                           is_unknown(f.type(operands[1]));
      products.push_back({std::string(f.op(id)->name), f[id].location, count, unknown});
    }
  }
  std::stable_sort(products.begin(), products.end(), [](const Product& a, const Product& b) {
    return a.multiplications > b.multiplications;
  });
  return products;
}

// `min(64, seq)`, as a slice of a table of 64 rows has it, is `seq` in a range that ends with 64.
void add_bounds(const Dim& size, std::map<std::string, std::int64_t>& bounds) {
  const DimAtom* least = DimAlgebra::as_atom(size, DimOp::kMin);
  if (least == nullptr) return;
  const auto arguments = DimAlgebra::arguments(DimOp::kMin, size);
  if (arguments.size() != 2) return;
  for (std::size_t i = 0; i < 2; ++i) {
    const auto bound = arguments[i].as_constant();
    const std::vector<std::string> symbols = arguments[1 - i].symbols();
    if (!bound || symbols.size() != 1 || arguments[1 - i] != Dim::symbol(symbols[0])) continue;
    const auto known = bounds.emplace(symbols[0], *bound).first;
    known->second = std::min(known->second, *bound);
  }
}

std::map<std::string, std::int64_t> bounds_of(const Module& placed) {
  std::map<std::string, std::int64_t> bounds;
  for (const auto& [name, f] : placed.functions) {
    for (std::size_t i = 0; i < f.num_nodes(); ++i) {
      const Type& type = f.type(NodeId(i));
      if (!type || type.is_function()) continue;
      for (const Type& tensor : flatten(type)) {
        for (const Dim& size : tensor.shape()) add_bounds(size, bounds);
      }
    }
  }
  return bounds;
}

// The options that may make unknown sizes known.
std::string dims_remedy(const Module& placed) {
  const auto names = symbol_names(placed.functions.at("main"));
  const auto bounds = bounds_of(placed);
  std::set<std::string> ranges, open;
  for (const auto& [symbol, range] : placed.symbols) {
    const auto shown = names.find(symbol);
    const std::string& name = shown == names.end() ? symbol : shown->second;
    const auto bound = bounds.find(symbol);
    if (bound != bounds.end() && bound->second >= range.min &&
        (range.max < 0 || range.max > bound->second)) {
      ranges.insert(fmt::format("--dim {}={}..{}", name, range.min, bound->second));
    }
    open.insert(fmt::format("--dim {}=...", name));
  }
  if (!ranges.empty()) {
    return fmt::format("give {}, beyond which the sizes do not follow from the inputs'",
                       fmt::join(ranges, " "));
  }
  if (open.empty()) return "";
  return fmt::format("give sizes that the model leaves open, from which others may follow: {}",
                     fmt::join(open, " "));
}

std::string remedy(const Module& placed, const PlacementFacts& facts,
                   const std::vector<Product>& products) {
  if (facts.tried.empty()) return "`tessera backends` says what each back end needs to be there";
  const bool unknown = std::any_of(products.begin(), products.end(),
                                   [](const Product& p) { return p.has_unknown_size; });
  std::string dims = unknown ? dims_remedy(placed) : "";
  return dims.empty() ? "change what the reasons name, where the model can be changed" : dims;
}

std::string count_text(double count) {
  return count < 1e9 ? fmt::format("{:.0f} million", count / 1e6)
                     : fmt::format("{:.1f} billion", count / 1e9);
}

std::string finding(const Product& p, const Module& placed, const PlacementFacts& facts) {
  return fmt::format("`{}` with {} multiplications{}: {}", p.op, count_text(p.multiplications),
                     placed.symbols.empty() ? "" : " at likely sizes",
                     reason_of({"", "native", {p.op}, {p.source}, ""}, facts));
}

}  // namespace

std::optional<Diagnostic> slow_products(const Module& placed, const PlacementFacts& facts) {
  const std::vector<Product> products = native_products(placed);
  if (products.empty()) return std::nullopt;
  Diagnostic told = warning(Code::kSlowCode, products.front().source,
                            "no back end takes {} of the model's large matrix products and "
                            "convolutions, and generated code takes many times longer; {}",
                            products.size(), finding(products.front(), placed, facts))
                        .with_remedy(remedy(placed, facts, products));
  for (std::size_t i = 1; i < std::min(products.size(), kShown); ++i) {
    told.notes.push_back({Severity::kNote,
                          Code::kSlowCode,
                          products[i].source,
                          finding(products[i], placed, facts),
                          {},
                          {}});
  }
  return told;
}

}  // namespace tessera::driver
