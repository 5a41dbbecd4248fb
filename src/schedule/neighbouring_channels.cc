// SPDX-License-Identifier: Apache-2.0
#include "schedule/neighbouring_channels.h"

#include <algorithm>
#include <utility>

#include "schedule/contraction.h"
#include "tir/compare.h"
#include "tir/walk.h"

namespace tessera::schedule {
namespace {

using tir::Buffer;
using tir::Expr;
using tir::Stmt;

// The read of an image in a sum of products: which of its dimensions the terms are along, and which
// of the sum's loops.
struct ImageRead {
  const tir::Load* load = nullptr;
  std::size_t dimension = 0, loop = 0;
};

bool multiplies_neighbours(DType t, std::int64_t terms, const Machine& machine) {
  if (machine.has_matrix_unit && (t == kBFloat16 || t.is_byte())) return true;
  return neighbours_at_once(t, terms, machine) > 1;
}

bool have_known_sizes(const std::vector<Loop>& loops) {
  return std::ranges::all_of(loops, [](const Loop& l) { return l.size() > 0; });
}

// An index that is the variable of one of the sum's loops, which no other index knows.
std::optional<ImageRead> image_read(const Expr& operand, const Reduction& r) {
  const tir::Load* load = load_of(operand);
  if (load == nullptr) return std::nullopt;
  std::optional<ImageRead> first;  // of the dimensions
  for (std::size_t l = 0; l < r.loops.size(); ++l) {
    const auto d = dimension_along(*load, r.loops[l].var);
    if (d && (!first || *d < first->dimension)) first = ImageRead{load, *d, l};
  }
  return first;
}

// Reads `to`, whose dimension with the number of the old one is the last, in place of `from`.
class ToCopy : public tir::Mutator {
 public:
  ToCopy(Buffer from, Buffer to, std::size_t dimension)
      : from_(std::move(from)), to_(std::move(to)), dimension_(dimension) {}
  using Mutator::mutate;
  Expr mutate(const Expr& e) override {
    const auto* load = e.as<tir::Load>();
    if (load == nullptr || load->buffer != from_) return Mutator::mutate(e);
    return tir::load(to_, with_last(load->indices, dimension_));
  }

 private:
  Buffer from_, to_;
  std::size_t dimension_;
};

class NeighbouringChannels {
 public:
  NeighbouringChannels(Kernel kernel, const Machine& machine)
      : kernel_(std::move(kernel)), machine_(machine) {}

  Kernel run() {
    for (std::size_t i = 0; i < kernel_.nests.size(); ++i) i += convert(i);
    return std::move(kernel_);
  }

 private:
  // How many nests there are more in front of the next one.
  std::size_t convert(std::size_t at) {
    const Nest nest = peel(kernel_.nests[at]);
    const auto r = as_reduction(nest.body);
    if (!r || !is_sum_of_products(*r)) return 0;
    const auto& product = *r->value.as<tir::Mul>();
    const auto image = image_read(product.a, *r);
    const tir::Load* weight = load_of(product.b);
    if (!image || weight == nullptr || weight->dtype.bits != image->load->dtype.bits) return 0;
    const Loop& channel = r->loops[image->loop];
    const bool is_fast = have_known_sizes(r->loops) && moves_with(product.b, channel) &&
                         multiplies_neighbours(image->load->dtype, channel.size(), machine_);
    if (!is_fast) return 0;
    const Buffer& from = image->load->buffer;
    if (image->dimension + 1 == from->shape.size()) {
      kernel_.nests[at] = reading(nest, *r, *image, from);  // they are: the loop alone moves
      return 0;
    }
    const Buffer to =
        tir::make_buffer(from->name + "_turned", from->dtype,
                         with_last(from->shape, image->dimension), tir::MemoryScope::kGlobal);
    kernel_.nests[at] = reading(nest, *r, *image, to);
    kernel_.temporaries.push_back(to);
    return write(at, from, to, image->dimension);
  }

  static Stmt reading(const Nest& nest, const Reduction& r, const ImageRead& image,
                      const Buffer& to) {
    const Stmt update = ToCopy(image.load->buffer, to, image.dimension).mutate(r.update);
    const Stmt init = tir::Store::make(r.target, r.indices, r.identity);
    return wrap(nest.loops, tir::seq({init, wrap(with_last(r.loops, image.loop), update)}));
  }

  // By the nest that makes the image, if nobody else reads that; else by one in front of the sum.
  std::size_t write(std::size_t at, const Buffer& from, const Buffer& to, std::size_t dimension) {
    for (std::size_t i = 0; i < at; ++i) {
      const Nest nest = peel(kernel_.nests[i]);
      if (!makes(nest, from) || !is_for_one(from, i)) continue;
      const auto& store = *nest.body.as<tir::Store>();
      const auto channel = std::ranges::find_if(
          nest.loops, [&](const Loop& l) { return l.var.same_as(store.indices[dimension]); });
      const auto number = static_cast<std::size_t>(channel - nest.loops.begin());
      kernel_.nests[i] =
          wrap(with_last(nest.loops, number),
               tir::Store::make(to, with_last(store.indices, dimension), store.value));
      return 0;
    }
    std::vector<Loop> loops;
    std::vector<Expr> indices;
    for (const Expr& extent : from->shape) {
      loops.push_back({tir::make_var("i" + std::to_string(loops.size())), extent});
      indices.push_back(loops.back().var);
    }
    const Stmt copy = tir::Store::make(to, with_last(indices, dimension), tir::load(from, indices));
    kernel_.nests.insert(kernel_.nests.begin() + static_cast<std::ptrdiff_t>(at),
                         wrap(with_last(loops, dimension), copy));
    return 1;
  }

  // All elements of the buffer, one an iteration; a dimension of one element has no loop.
  static bool makes(const Nest& nest, const Buffer& b) {
    const auto* store = nest.body.as<tir::Store>();
    if (store == nullptr || store->buffer != b) return false;
    std::size_t next = 0;
    for (std::size_t d = 0; d < store->indices.size(); ++d) {
      const bool is_along_loop = next < nest.loops.size() &&
                                 store->indices[d].same_as(nest.loops[next].var) &&
                                 tir::equal(nest.loops[next].extent, b->shape[d]);
      if (!is_along_loop && !(is_int(b->shape[d], 1) && is_int(store->indices[d], 0))) return false;
      next += is_along_loop ? 1 : 0;
    }
    return next == nest.loops.size();
  }

  // Is it a temporary that no nest but this one knows any more?
  bool is_for_one(const Buffer& b, std::size_t maker) const {
    const bool is_temporary =
        std::ranges::find(kernel_.temporaries, b) != kernel_.temporaries.end();
    for (std::size_t i = 0; i < kernel_.nests.size(); ++i) {
      if (i == maker) continue;
      const std::vector<Access> all = accesses(kernel_.nests[i]);
      if (std::ranges::any_of(all, [&](const Access& a) { return a.buffer == b; })) return false;
    }
    return is_temporary;
  }

  Kernel kernel_;
  const Machine& machine_;
};

}  // namespace

Kernel lay_channels_side_by_side(Kernel kernel, const Machine& machine) {
  return NeighbouringChannels(std::move(kernel), machine).run();
}

}  // namespace tessera::schedule
