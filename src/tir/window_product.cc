// SPDX-License-Identifier: Apache-2.0
#include "tir/window_product.h"

#include <algorithm>
#include <array>

#include "tir/compare.h"
#include "tir/simplify.h"
#include "tir/walk.h"

namespace tessera::tir {
namespace {

std::int64_t size(const Buffer& b, std::size_t dimension) { return *as_int(b->shape[dimension]); }

bool has_four_known_sizes(const Buffer& b) {
  return b->shape.size() == 4 && b->strides.empty() &&
         std::all_of(b->shape.begin(), b->shape.end(), [](const Expr& e) {
           const std::int64_t* n = as_int(e);
           return n != nullptr && *n > 0;
         });
}

// The numbers of a block's image, row, column and result, of one of the loop's iterations.
std::array<Expr, 4> place_of(const WindowProduct& p, const Expr& e) {
  const std::int64_t in_row = p.columns() * p.results, in_image = p.rows() * in_row;
  return {floor_div(e, Expr(in_image)), floor_mod(floor_div(e, Expr(in_row)), Expr(p.rows())),
          floor_mod(floor_div(e, Expr(p.results)), Expr(p.columns())),
          floor_mod(e, Expr(p.results))};
}

const Load* narrow_load(const Expr& e) {
  const auto* wider = e.as<Cast>();
  if (wider == nullptr) return nullptr;
  const auto* choice = wider->value.as<Select>();
  return (choice != nullptr ? choice->yes : wider->value).as<Load>();
}

// The two reads and the store of a loop that may be one.
struct Parts {
  const Load *image = nullptr, *weight = nullptr;
  const Store* result = nullptr;
};
Parts parts_of(const For& loop) {
  Parts parts;
  for_each_node(loop.body, [&](const Stmt& s) {
    const auto* store = s.as<Store>();
    if (store == nullptr) return;
    if (store->indices.size() == 4) parts.result = store;
    const auto* sum = store->value.as<Add>();
    const auto* term = sum != nullptr ? sum->b.as<Mul>() : nullptr;
    if (term == nullptr) return;
    parts.image = narrow_load(term->a);
    parts.weight = narrow_load(term->b);
  });
  return parts;
}

// What an index is at an iteration of the loop, and at one step of the window.
class IndexAt {
 public:
  IndexAt(const For& loop, const Load& weight, const Bounds& bounds)
      : loop_(loop), weight_(weight), bounds_(bounds) {}

  Expr operator()(const Expr& index, std::int64_t iteration, std::int64_t dimension = -1) const {
    VarMap values{{loop_.var.get(), Expr(iteration)}};
    for (std::size_t d = 0; d < 3; ++d) {
      const bool is_it = static_cast<std::int64_t>(d) == dimension;
      if (weight_.indices[d].as<Var>() == nullptr) continue;
      values[weight_.indices[d].get()] = Expr(is_it ? 1 : 0);
    }
    return simplify(substitute(index, values), bounds_);
  }
  // How far the index moves until that iteration, or by a step of the window; 1 where none is made.
  std::int64_t moved(const Expr& index, std::int64_t iteration, std::int64_t dimension = -1) const {
    const Expr by = simplify((*this)(index, iteration, dimension) - (*this)(index, 0), bounds_);
    const std::int64_t* n = as_int(by);
    return n != nullptr ? *n : 1;
  }

 private:
  const For& loop_;
  const Load& weight_;
  const Bounds& bounds_;
};

void take_places(WindowProduct& p, const Parts& parts, const IndexAt& at) {
  const std::vector<Expr>& image = parts.image->indices;
  const auto steps = [&](std::size_t d, std::int64_t extent, std::int64_t next) {
    WindowSteps s;
    if (extent > 1) s.stride = at.moved(image[d], next);
    if (size(p.weight, d - 1) > 1) s.dilation = at.moved(image[d], 0, std::int64_t(d) - 1);
    return s;
  };
  p.down = steps(1, p.rows(), p.columns() * p.results);
  p.across = steps(2, p.columns(), p.results);
  p.first_image = at(image[0], 0);
  p.top = at(image[1], 0);
  p.left = at(image[2], 0);
  p.first_result = at(parts.weight->indices[3], 0);
}

// How tessera/window_product.cuh lays memory out.
constexpr std::int64_t kVectorBytes = 16, kMostAtOnceBytes = 20 << 10;

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// What the windows of one image see.
std::int64_t patch_bytes(const WindowProduct& p) {
  const auto span = [&](std::int64_t places, const WindowSteps& s, std::size_t dimension) {
    return (places - 1) * s.stride + (size(p.weight, dimension) - 1) * s.dilation + 1;
  };
  const std::int64_t rows = span(p.rows(), p.down, 0), across = span(p.columns(), p.across, 1);
  constexpr std::int64_t kMostPlaces = 1 << 15, kTooMany = std::int64_t{1} << 40;
  if (rows > kMostPlaces || across > kMostPlaces) return kTooMany;
  const std::int64_t columns = ceil_div(across, p.across.stride) * p.across.stride;
  const std::int64_t vectors = p.groups() * p.channels_of_group() / kAlignedChannels | 1;
  return rows * columns * vectors * kVectorBytes;
}

// Of sixteen terms.
std::int64_t weight_step_bytes(const WindowProduct& p) {
  const std::int64_t of_row = p.results / kAlignedChannels;
  const bool is_power = (of_row & (of_row - 1)) == 0;
  return 16 * kVectorBytes * (is_power ? of_row : of_row | 1);
}
std::int64_t all_weight_bytes(const WindowProduct& p) {
  const std::int64_t terms = size(p.weight, 0) * size(p.weight, 1) * p.channels_of_group();
  return ceil_div(terms, 16) * weight_step_bytes(p);
}
std::int64_t weight_bytes(const WindowProduct& p) {
  constexpr std::int64_t kMostOfStepBytes = 6 << 10, kSlots = 3;
  const std::int64_t all = all_weight_bytes(p), each = weight_step_bytes(p);
  const std::int64_t step = std::max<std::int64_t>(kMostOfStepBytes / each, 1) * each;
  return all <= kMostAtOnceBytes ? all : kSlots * step;
}

constexpr std::int64_t kBetweenPlaces = 8;  // what is stored at once lies in different banks
std::int64_t sum_bytes(const WindowProduct& p, std::int64_t row) {
  return p.images() * p.rows() * p.columns() * row * kFloat32.size_bytes();
}

// Of a text the steps may be any.
bool are_usable(const WindowSteps& s) {
  constexpr std::int64_t kMost = 1 << 15;
  return s.stride > 0 && s.stride <= kMost && s.dilation > 0 && s.dilation <= kMost;
}

bool begins_at_multiples(const Expr& e, std::int64_t of, const Bounds& bounds) {
  const IndexForm form = index_form(e, bounds);
  return form.constant % of == 0 &&
         std::all_of(form.terms.begin(), form.terms.end(),
                     [&](const IndexTerm& t) { return t.coefficient % of == 0; });
}

}  // namespace

std::int64_t WindowProduct::images() const { return size(sums, 0); }
std::int64_t WindowProduct::rows() const { return size(sums, 1); }
std::int64_t WindowProduct::columns() const { return size(sums, 2); }
std::int64_t WindowProduct::channels_of_group() const { return size(weight, 2); }
std::int64_t WindowProduct::results_of_group() const {
  return size(weight, 3) / (size(image, 3) / channels_of_group());
}
std::int64_t WindowProduct::groups() const {
  return std::max<std::int64_t>(results / results_of_group(), 1);
}

std::int64_t WindowProduct::images_at_once() const {
  const bool is_small = images() * patch_bytes(*this) <= sum_bytes(*this, results + kBetweenPlaces);
  return is_small || all_weight_bytes(*this) > kMostAtOnceBytes ? images() : 1;
}
std::int64_t WindowProduct::row_of_sums() const {
  constexpr std::int64_t kBanks = 16;  // that leave rows in different ones
  const std::int64_t wanted = images_at_once() * patch_bytes(*this);
  std::int64_t row = results + kBetweenPlaces;
  const std::int64_t lacking = std::max<std::int64_t>(wanted - sum_bytes(*this, row), 0);
  row += ceil_div(lacking, sum_bytes(*this, kBanks)) * kBanks;
  return row;
}

bool fits(const WindowProduct& p) {
  constexpr std::int64_t kMostGroups = 8;      // a warp for each, at least
  constexpr std::int64_t kMostSums = 1 << 13;  // in registers
  constexpr std::int64_t kMostElements = std::int64_t{1} << 31;
  const DType type = p.image->dtype;
  if (!are_usable(p.down) || !are_usable(p.across)) return false;
  if (!has_four_known_sizes(p.image) || !has_four_known_sizes(p.weight) ||
      !has_four_known_sizes(p.sums) || (type != kFloat16 && type != kBFloat16) ||
      p.weight->dtype != type || p.sums->dtype != kFloat32) {
    return false;
  }
  const std::int64_t channels = size(p.image, 3), of_group = p.channels_of_group();
  if (of_group % kAlignedChannels != 0 || channels % of_group != 0 || p.results < 1 ||
      size(p.weight, 3) % (channels / of_group) != 0) {
    return false;
  }
  const std::int64_t each = p.results_of_group(), groups = p.groups();
  const bool is_whole = p.results % each == 0 || each % p.results == 0;
  const std::int64_t of_images = p.images() * size(p.image, 1) * size(p.image, 2) * channels;
  return is_whole && each % kAlignedChannels == 0 && p.results % kAlignedChannels == 0 &&
         size(p.weight, 3) % p.results == 0 && groups <= kMostGroups &&
         (groups & (groups - 1)) == 0 &&
         p.images() * p.rows() * p.columns() * p.results <= kMostSums &&
         constant_size(p.weight) < kMostElements && of_images < kMostElements &&
         size(p.sums, 3) == p.row_of_sums();
}

std::int64_t window_product_bytes(const WindowProduct& p) {
  return constant_size(p.sums) * p.sums->dtype.size_bytes() + weight_bytes(p);
}

Stmt window_product(const WindowProduct& p) {
  const Expr e = make_var("e"), kh = make_var("kh"), kw = make_var("kw"), ci = make_var("ci");
  const auto [image, row, column, result] = place_of(p, e);
  const Expr y = p.top + row * Expr(p.down.stride) + kh * Expr(p.down.dilation);
  const Expr x = p.left + column * Expr(p.across.stride) + kw * Expr(p.across.dilation);
  const Expr o = p.first_result + result;
  const Expr channel = floor_div(o, Expr(p.results_of_group())) * Expr(p.channels_of_group()) + ci;
  const auto inside = [](const Expr& at, const Expr& extent) {
    return logical_and(le(Expr(0), at), lt(at, extent));
  };
  const Expr there = logical_and(inside(y, p.image->shape[1]), inside(x, p.image->shape[2]));
  const Expr element =
      select(there, load(p.image, {p.first_image + image, y, x, channel}), imm(0, p.image->dtype));
  const Expr term = cast(element, kFloat32) * cast(load(p.weight, {kh, kw, ci, o}), kFloat32);
  const Buffer acc = make_buffer("acc", kFloat32, {}, MemoryScope::kStack);
  const std::vector<Expr> none;
  Stmt sum = Store::make(acc, none, load(acc, {}) + term);
  const std::array<Expr, 3> terms = {kh, kw, ci};
  for (std::size_t d = terms.size(); d-- > 0;) {
    sum = For::make(terms[d], Expr(0), p.weight->shape[d], ForKind::kSerial, sum);
  }
  const Stmt store =
      Store::make(p.sums, std::vector<Expr>{image, row, column, result}, load(acc, {}));
  return For::make(e, Expr(0), Expr(p.images() * p.rows() * p.columns() * p.results),
                   ForKind::kThreads,
                   Allocate::make(acc, seq({Store::make(acc, none, float_imm(0)), sum, store})));
}

std::optional<WindowProduct> as_window_product(const For& loop, const Bounds& bounds) {
  const std::int64_t* extent = as_int(loop.extent);
  if (loop.loop != ForKind::kThreads || extent == nullptr) return std::nullopt;
  const Parts parts = parts_of(loop);
  if (parts.image == nullptr || parts.weight == nullptr || parts.result == nullptr) {
    return std::nullopt;
  }
  WindowProduct p;
  p.image = parts.image->buffer;
  p.weight = parts.weight->buffer;
  p.sums = parts.result->buffer;
  for (const Buffer* b : {&p.image, &p.weight, &p.sums}) {
    if (!has_four_known_sizes(*b)) return std::nullopt;
  }
  const std::int64_t places = p.images() * p.rows() * p.columns();
  if (*extent % places != 0) return std::nullopt;
  p.results = *extent / places;
  take_places(p, parts, IndexAt(loop, *parts.weight, bounds));
  if (!fits(p) || !begins_at_multiples(p.first_result, p.results, bounds)) return std::nullopt;
  const Stmt again = simplify(window_product(p), bounds);
  return equal(again, Stmt(Ref<const StmtNode>(&loop))) ? std::optional(p) : std::nullopt;
}

}  // namespace tessera::tir
