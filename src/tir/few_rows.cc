// SPDX-License-Identifier: Apache-2.0
#include "tir/few_rows.h"

#include <algorithm>
#include <utility>

#include "tir/compare.h"
#include "tir/device_loops.h"
#include "tir/fragments.h"
#include "tir/simplify.h"
#include "tir/walk.h"

namespace tessera::tir {
namespace {

constexpr std::int64_t kManyTiles = 512;    // more than a device runs at once
constexpr std::int64_t kFewBlocks = 264;    // two for each of a large device's multiprocessors
constexpr std::int64_t kLeastBlocks = 128;  // about one
constexpr std::int64_t kAccess = 512;       // bytes that a warp reads at once
constexpr std::int64_t kBetweenRows = 4;    // unused sums, so that rows begin in other banks

const Load* load_of(Expr e) {
  if (const auto* wider = e.as<Cast>()) e = wider->value;
  return e.as<Load>();
}

// A matrix as it lies in memory is at hand where vectors of it and of the data are aligned.
bool is_plain_matrix(const FewRows& p) {
  const DType dtype = p.weight->dtype;
  const bool is_half = dtype == kFloat16 || dtype == kBFloat16;
  return is_half && p.data->dtype == dtype && p.weight->shape.size() == 2 &&
         as_int(p.weight->shape[0]) != nullptr && as_int(p.weight->shape[1]) != nullptr;
}

// The integers: how many bits, and from where.
const Load* take_words(FewRows& p, const Expr& integers) {
  const auto* wider = integers.as<Cast>();
  const auto* masked = wider == nullptr ? nullptr : wider->value.as<Call>();
  if (masked == nullptr || masked->name != "bitwise_and") return nullptr;
  const std::int64_t* mask = as_int(masked->args[1]);
  const auto* shifted = masked->args[0].as<Call>();
  const Expr& word = shifted != nullptr ? shifted->args[0] : masked->args[0];
  if (mask == nullptr || (*mask != 3 && *mask != 15 && *mask != 255)) return nullptr;
  p.bits = *mask == 3 ? 2 : *mask == 15 ? 4 : 8;
  return word.as<Load>();
}

bool is_of_tiles(const Buffer& b) {
  return b->shape.size() == 3 && as_int(b->shape[0]) != nullptr && as_int(b->shape[1]) != nullptr &&
         is_int(b->shape[2], kFragmentColumns);
}

// A block has so many terms; the only one has them all.
std::int64_t block_of(const FewRows& p, const Expr& index) {
  const auto* quotient = index.as<FloorDiv>();
  const std::int64_t* size = quotient == nullptr ? nullptr : as_int(quotient->b);
  if (size != nullptr) return *size;
  return (p.terms() + kFragmentTerms - 1) / kFragmentTerms * kFragmentTerms;
}

// (q - zero) * scale
bool take_matrix(FewRows& p, const Mul& matrix) {
  const Load* scale = load_of(matrix.b);
  if (scale == nullptr || !is_of_tiles(scale->buffer)) return false;
  Expr integers = matrix.a;
  if (const auto* centred = integers.as<Sub>()) {
    integers = centred->a;
    const auto* number = centred->b.as<FloatImm>();
    const Load* zero = load_of(centred->b);
    if (number != nullptr) p.one_zero = number->value;
    if (zero != nullptr && is_of_tiles(zero->buffer)) p.zero = zero->buffer;
    if (number == nullptr && !p.zero) return false;
  }
  const Load* words = take_words(p, integers);
  if (words == nullptr || words->buffer->dtype != kInt32 || words->buffer->shape.size() != 3) {
    return false;
  }
  p.weight = words->buffer;
  p.scale = scale->buffer;
  p.block = block_of(p, scale->indices[1]);
  return p.block % kFragmentTerms == 0;
}

}  // namespace

std::int64_t FewRows::terms() const { return *as_int(data->shape.back()); }

std::int64_t FewRows::columns() const {
  const std::int64_t size = *as_int(weight->shape[0]);
  if (has_words()) return size * kFragmentColumns;
  return (size + kFragmentColumns - 1) / kFragmentColumns * kFragmentColumns;
}

std::int64_t FewRowsSums::columns() const { return *as_int(sums->shape[1]); }

std::int64_t few_rows_step_bytes(const FewRows& p) {
  if (!p.has_words()) return 2 * kAccess;
  const std::int64_t terms = terms_of_a_step(p.bits);
  const std::int64_t with_one_scale = p.block % terms == 0 ? terms : kFragmentTerms;
  const std::int64_t scale = p.scale->dtype.size_bytes(),
                     zero = p.zero ? p.zero->dtype.size_bytes() : 0;
  return kAccess + terms / with_one_scale * kFragmentColumns * (scale + zero);
}

namespace {

// A step that is multiplied and one under way, for each warp; then the sums of all warps.
bool fits(const FewRows& p, std::int64_t columns, std::int64_t threads) {
  const std::int64_t warps = threads / kWarpThreads;
  const std::int64_t steps = 2 * columns / kFragmentColumns * few_rows_step_bytes(p);
  const std::int64_t sums = kFewRows * (columns + kBetweenRows) * kFloat32.size_bytes();
  return warps * std::max(steps, sums) <= kFewRowsBytes;
}

}  // namespace

std::int64_t few_rows_columns(const FewRows& p) {
  const std::int64_t tiles = p.columns() / kFragmentColumns;
  const std::int64_t more = tiles > kManyTiles ? 2 : 1, wanted = more * (p.bits <= 4 ? 2 : 1);
  for (std::int64_t each = wanted; each > 1; each /= 2) {
    const std::int64_t columns = each * kFragmentColumns;
    const bool leaves_none = tiles % each == 0 && tiles / each >= kLeastBlocks;
    if (leaves_none && fits(p, columns, kMaxTeamThreads)) return columns;
  }
  return kFragmentColumns;
}

int few_rows_threads(const FewRows& p, std::int64_t columns) {
  const std::int64_t steps = p.terms() / (p.has_words() ? terms_of_a_step(p.bits) : kFragmentTerms);
  const bool has_few = p.columns() / columns <= kFewBlocks;
  constexpr int kMore = 2 * kMaxTeamThreads;
  const bool all_work = steps >= kMore / kWarpThreads;
  return has_few && all_work && fits(p, columns, kMore) ? kMore : kMaxTeamThreads;
}

Expr few_rows_term(const FewRows& p, const std::vector<Expr>& row, const Expr& column,
                   const Expr& k) {
  std::vector<Expr> at = row;
  at.push_back(k);
  const Expr x = cast(load(p.data, at), kFloat32);
  if (!p.has_words()) {
    const Expr last = p.weight->shape[0] - Expr(1);
    return x * cast(load(p.weight, {min(column, last), k}), kFloat32);
  }
  const auto elements_of = [](const Buffer& b) {
    return [b](std::vector<Expr> at) { return load(b, std::move(at)); };
  };
  const auto number = [&p](const std::vector<Expr>&) { return float_imm(p.one_zero); };
  const FragmentTensors tensors{elements_of(p.weight), elements_of(p.scale),
                                p.zero ? ElementAt(elements_of(p.zero)) : ElementAt(number), p.bits,
                                p.block};
  return fragment_element(tensors, column, k) * x;
}

std::optional<FewRows> as_few_rows_term(const Expr& value, const Expr& k) {
  const auto* product = value.as<Mul>();
  if (product == nullptr) return std::nullopt;
  FewRows p;
  const auto* matrix = product->a.as<Mul>();
  const Load* data = load_of(matrix != nullptr ? product->b : product->a);
  if (data == nullptr || !data->buffer->dtype.is_float() || data->buffer->dtype.bits > 32 ||
      data->indices.empty() || !data->indices.back().same_as(k) ||
      as_int(data->buffer->shape.back()) == nullptr) {
    return std::nullopt;
  }
  p.data = data->buffer;
  if (matrix != nullptr) return take_matrix(p, *matrix) ? std::optional(p) : std::nullopt;
  const Load* weight = load_of(product->b);
  if (weight == nullptr) return std::nullopt;
  p.weight = weight->buffer;
  return is_plain_matrix(p) ? std::optional(p) : std::nullopt;
}

std::vector<Expr> row_indices(const Buffer& data, const Expr& row) {
  std::vector<Expr> indices(data->shape.size() - 1);
  Expr left = row;
  for (std::size_t d = indices.size(); d-- > 0;) {
    indices[d] = d == 0 ? left : floor_mod(left, data->shape[d]);
    left = floor_div(left, data->shape[d]);
  }
  return indices;
}

Stmt few_rows_sums(const FewRowsSums& s) {
  const Expr e = make_var("e"), row = make_var("row"), column = make_var("column");
  const Expr k = make_var("k"), across(s.columns());
  const Expr down = floor_div(e, across), along = floor_mod(e, across);
  const Buffer acc = make_buffer("acc", kFloat32, {}, MemoryScope::kStack);
  const Expr term = few_rows_term(s.product, row_indices(s.product.data, row), column, k);
  const std::vector<Expr> none;
  const Stmt sum = Allocate::make(
      acc, seq({Store::make(acc, none, float_imm(0)),
                For::make(k, Expr(0), Expr(s.product.terms()), ForKind::kSerial,
                          Store::make(acc, none, load(acc, {}) + term)),
                Store::make(s.sums, std::vector<Expr>{down, along}, load(acc, {}))}));
  return For::make(
      e, Expr(0), s.rows * across, ForKind::kThreads,
      LetStmt::make(row, s.first_row + down, LetStmt::make(column, s.first_column + along, sum)));
}

namespace {

// What the loop reads and writes, with its own variables as they are at the first of its
// iterations.
struct Found {
  Expr term, k;
  Buffer sums;
  VarMap first;
};

std::optional<Found> look_into(const For& loop) {
  Found found;
  found.first[loop.var.get()] = Expr(0);
  for_each_node(loop.body, [&](const Stmt& s) {
    if (const auto* let = s.as<LetStmt>()) {
      found.first[let->var.get()] = substitute(let->value, found.first);
    } else if (const auto* inner = s.as<For>()) {
      found.k = inner->var;
    } else if (const auto* store = s.as<Store>()) {
      const auto* sum = store->value.as<Add>();
      if (sum != nullptr) found.term = sum->b;
      if (store->buffer->scope == MemoryScope::kShared) found.sums = store->buffer;
    }
  });
  const bool is_one = found.term && found.k && found.sums && found.sums->shape.size() == 2 &&
                      as_int(found.sums->shape[1]) != nullptr;
  return is_one ? std::optional(std::move(found)) : std::nullopt;
}

// The indices of a buffer's first load.
std::vector<Expr> indices_of(const Expr& e, const Buffer& b) {
  std::vector<Expr> indices;
  for_each_node(e, [&](const Expr& part) {
    const auto* load = part.as<Load>();
    if (load != nullptr && load->buffer == b && indices.empty()) indices = load->indices;
  });
  return indices;
}

}  // namespace

std::optional<FewRowsSums> as_few_rows_sums(const For& loop, const Bounds& bounds) {
  if (loop.loop != ForKind::kThreads) return std::nullopt;
  const auto found = look_into(loop);
  if (!found) return std::nullopt;
  auto product = as_few_rows_term(found->term, found->k);
  if (!product) return std::nullopt;
  FewRowsSums s{*std::move(product), found->sums, {}, Expr(0), {}};
  const auto at_first = [&](const Expr& e) {
    return simplify(substitute(e, found->first), bounds);
  };
  const std::vector<Expr> row = indices_of(found->term, s.product.data);
  for (std::size_t d = 0; d + 1 < row.size(); ++d) {
    s.first_row = s.first_row * s.product.data->shape[d] + row[d];
  }
  s.first_row = at_first(s.first_row);
  const Buffer& columns = s.product.has_words() ? s.product.scale : s.product.weight;
  const Expr column = indices_of(found->term, columns)[0];
  s.first_column = at_first(s.product.has_words() ? column * Expr(kFragmentColumns) : Expr(column));
  s.rows = simplify(floor_div(loop.extent, Expr(s.columns())), bounds);
  if (const auto* all = loop.extent.as<Mul>(); all != nullptr && is_int(all->b, s.columns())) {
    s.rows = all->a;
  }
  const Stmt again = simplify(few_rows_sums(s), bounds);
  return equal(again, Stmt(Ref<const StmtNode>(&loop))) ? std::optional(s) : std::nullopt;
}

}  // namespace tessera::tir
