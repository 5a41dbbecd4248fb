// SPDX-License-Identifier: Apache-2.0
#include "schedule/borders.h"

#include <algorithm>
#include <optional>
#include <span>

#include "tir/walk.h"

namespace tessera::schedule {
namespace {

using tir::Buffer;
using tir::Expr;
using tir::Stmt;

// An element of `buffer`, by the loop variables that are its indices.
struct Bordered {
  Buffer buffer;
  std::vector<Expr> indices;
  Expr value;
};

// Each index a variable of its own; along a dimension of one element there is no loop.
bool are_the_loops(const std::vector<Expr>& indices, const std::vector<Loop>& loops) {
  std::size_t next = 0;
  for (const Expr& index : indices) {
    if (tir::is_int(index, 0)) continue;
    if (next == loops.size() || index.get() != loops[next].var.get()) return false;
    ++next;
  }
  return next == loops.size();
}

std::optional<Bordered> as_border(const Stmt& s, const std::vector<Buffer>& temporaries) {
  const Nest nest = peel(s);
  const auto* store = nest.body.as<tir::Store>();
  if (store == nullptr || !are_the_loops(store->indices, nest.loops)) return std::nullopt;
  if (std::find(temporaries.begin(), temporaries.end(), store->buffer) == temporaries.end()) {
    return std::nullopt;
  }
  const auto* select = store->value.as<tir::Select>();
  if (select == nullptr || select->yes.as<tir::Load>() == nullptr ||
      !loads(select->no, {}).empty() || !loads(select->condition, {}).empty()) {
    return std::nullopt;
  }
  return Bordered{store->buffer, store->indices, store->value};
}

bool touches(const Stmt& s, const Buffer& buffer) {
  const std::vector<Access> all = accesses(s);
  return std::any_of(all.begin(), all.end(), [&](const Access& a) { return a.buffer == buffer; });
}

class ReadThrough final : public tir::Mutator {
 public:
  explicit ReadThrough(const Bordered& border) : border_(border) {}
  using Mutator::mutate;
  Expr mutate(const Expr& e) override {
    const auto* load = e.as<tir::Load>();
    if (load == nullptr || load->buffer != border_.buffer) return Mutator::mutate(e);
    tir::VarMap values;
    for (std::size_t i = 0; i < load->indices.size(); ++i) {
      if (tir::is_int(border_.indices[i], 0)) continue;
      values[border_.indices[i].get()] = mutate(load->indices[i]);
    }
    return tir::substitute(border_.value, values);
  }

 private:
  const Bordered& border_;
};

}  // namespace

std::vector<Stmt> read_through_borders(const std::vector<Stmt>& nests, const std::vector<Stmt>& all,
                                       const std::vector<Buffer>& temporaries) {
  std::vector<Stmt> kept = nests;
  for (std::size_t i = 0; i + 1 < kept.size();) {
    const auto border = as_border(kept[i], temporaries);
    const auto touching = [&](std::span<const Stmt> of) {
      return std::count_if(of.begin(), of.end(),
                           [&](const Stmt& s) { return touches(s, border->buffer); });
    };
    if (!border || touching(kept) != touching(all)) {
      ++i;
      continue;
    }
    kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(i));
    for (std::size_t reader = i; reader < kept.size(); ++reader) {
      kept[reader] = ReadThrough(*border).mutate(kept[reader]);
    }
  }
  return kept;
}

}  // namespace tessera::schedule
