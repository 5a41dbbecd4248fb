// SPDX-License-Identifier: Apache-2.0
#include "tir/own_elements.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <unordered_map>

#include "tir/compare.h"
#include "tir/index_form.h"
#include "tir/walk.h"

namespace tessera::tir {
namespace {

using Indices = std::vector<Expr>;

// t / div % mod of a variable t; `mod` is 0 where nothing is cut off above.
struct Digit {
  std::int64_t div = 1, mod = 0;
};

std::optional<Digit> digit_of(const Expr& e, const Expr& var) {
  if (e.same_as(var)) return Digit{};
  const auto* rest = e.as<FloorMod>();
  const auto* part = (rest != nullptr ? rest->a : e).as<FloorDiv>();
  const std::int64_t* mod = rest != nullptr ? as_int(rest->b) : nullptr;
  const std::int64_t* div = part != nullptr ? as_int(part->b) : nullptr;
  if (rest != nullptr && (mod == nullptr || *mod < 1)) return std::nullopt;
  if (part != nullptr && (div == nullptr || *div < 1)) return std::nullopt;
  const Expr& inner = part != nullptr ? part->a : rest != nullptr ? rest->a : e;
  if (!inner.same_as(var)) return std::nullopt;
  return Digit{div != nullptr ? *div : 1, mod != nullptr ? *mod : 0};
}

// Do the digits together tell the whole of a number in [0, extent)?
bool tell_all(std::vector<Digit> digits, const std::int64_t* extent) {
  std::sort(digits.begin(), digits.end(),
            [](const Digit& a, const Digit& b) { return a.div < b.div; });
  std::int64_t known = 1;  // the number modulo this
  for (const Digit& d : digits) {
    if (known % d.div != 0) return false;
    if (d.mod == 0) return true;
    std::int64_t cut = 0;
    if (__builtin_mul_overflow(d.div, d.mod, &cut)) return true;  // off no number of 64 bits
    known = std::max(known, cut);
  }
  return extent != nullptr && known >= *extent;
}

class Iteration {
 public:
  explicit Iteration(const For& loop) : loop_(loop) {
    bounds_.set_loop(loop.var, loop.min, loop.extent);
    for_each_node(loop.body, [&](const Stmt& s) {
      if (const auto* inner = s.as<For>()) {
        bounds_.set_loop(inner->var, inner->min, inner->extent);
        inner_.push_back(inner->var);
      }
      if (const auto* let = s.as<LetStmt>()) note(*let);
    });
  }

  Indices plain(const Indices& indices) const {
    Indices out;
    for (const Expr& e : indices) out.push_back(substitute(e, lets_));
    return out;
  }

  // Is the element another one in each iteration? Terms that are multiples of more than all smaller
  // ones come to are digits of the element's number; those of the loop's variable must tell it.
  bool differs(const Buffer& b, const Indices& indices) const {
    if (too_large_) return false;
    IndexForm offset;
    const std::vector<Expr> strides = strides_of(b);
    for (std::size_t d = 0; d < indices.size(); ++d) {
      const std::int64_t* stride = as_int(strides[d]);
      if (stride == nullptr) return false;
      offset = add(offset, index_form(indices[d], bounds_), *stride);
    }
    std::sort(offset.terms.begin(), offset.terms.end(), [](const auto& a, const auto& b) {
      return std::abs(a.coefficient) < std::abs(b.coefficient);
    });
    std::vector<Digit> digits;
    std::int64_t reach = 0;  // of the terms so far
    for (const IndexTerm& t : offset.terms) {
      if (!changes(t.atom)) continue;
      const std::int64_t step = std::abs(t.coefficient);
      if (reach == Interval::kAny || step <= reach) return false;
      const Interval range = range_of(index_form(t.atom, bounds_), bounds_);
      std::int64_t span = 0;
      const bool bounded = range.has_min() && range.has_max() &&
                           !__builtin_sub_overflow(range.max, range.min, &span) &&
                           !__builtin_mul_overflow(span, step, &span) &&
                           !__builtin_add_overflow(span, reach, &span);
      reach = bounded ? span : Interval::kAny;
      if (!uses_var(t.atom, loop_.var)) continue;
      const auto digit = digit_of(t.atom, loop_.var);
      if (!digit) return false;
      digits.push_back(*digit);
    }
    return tell_all(std::move(digits), as_int(loop_.extent));
  }

 private:
  // A few definitions that read each other double their text each.
  void note(const LetStmt& let) {
    constexpr std::int64_t kMostNodes = 10000;
    std::int64_t nodes = 0;
    for_each_node(let.value, [&](const Expr& e) {
      const auto known = sizes_.find(e.get());
      nodes = std::min(kMostNodes, nodes + (known != sizes_.end() ? known->second : 1));
    });
    sizes_[let.var.get()] = nodes;
    too_large_ |= nodes == kMostNodes;
    if (!too_large_) lets_[let.var.get()] = substitute(let.value, lets_);
  }

  // Within the loop; what does not is the same for all its iterations.
  bool changes(const Expr& e) const {
    bool found = uses_var(e, loop_.var);
    for (const Expr& v : inner_) found |= uses_var(e, v);
    for_each_node(e, [&](const Expr& part) { found |= part.as<Load>() != nullptr; });
    return found;
  }

  const For& loop_;
  Bounds bounds_;
  std::vector<Expr> inner_;  // variables of loops inside
  VarMap lets_;
  std::unordered_map<const ExprNode*, std::int64_t> sizes_;  // of the definitions, written out
  bool too_large_ = false;
};

struct Uses {
  const BufferNode* memory;
  Buffer buffer;  // by whose indices
  std::vector<Indices> places;
  bool written = false, by_several_views = false;
};

}  // namespace

std::vector<std::string> shared_between_iterations(const For& loop, const TeamMemory& memory) {
  std::vector<Uses> all;
  const Iteration iteration(loop);
  const auto note = [&](const Buffer& b, const Indices& indices, bool writes) {
    const BufferNode* where = memory.of(b).get();
    if (where->scope != MemoryScope::kShared) return;
    auto it =
        std::find_if(all.begin(), all.end(), [&](const Uses& u) { return u.memory == where; });
    if (it == all.end()) it = all.insert(it, Uses{where, b, {}});
    it->by_several_views |= it->buffer != b;
    it->places.push_back(iteration.plain(indices));
    it->written |= writes;
  };
  for_each_node(loop.body, [&]<class Node>(const Node& part) {
    if constexpr (std::is_same_v<Node, Stmt>) {
      if (const auto* s = part.template as<Store>()) note(s->buffer, s->indices, true);
    } else if constexpr (std::is_same_v<Node, Expr>) {
      if (const auto* l = part.template as<Load>()) note(l->buffer, l->indices, false);
    }
  });
  std::vector<std::string> found;
  for (const Uses& u : all) {
    if (!u.written) continue;
    const bool at_one_place = !u.by_several_views && std::all_of(u.places.begin(), u.places.end(),
                                                                 [&](const Indices& other) {
                                                                   return equal(other, u.places[0]);
                                                                 });
    if (!at_one_place || !iteration.differs(u.buffer, u.places[0])) found.push_back(u.memory->name);
  }
  return found;
}

bool differs_between_iterations(const For& loop, const Buffer& buffer,
                                const std::vector<Expr>& indices) {
  const Iteration iteration(loop);
  return iteration.differs(buffer, iteration.plain(indices));
}

}  // namespace tessera::tir
