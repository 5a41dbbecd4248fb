// SPDX-License-Identifier: Apache-2.0
#include "schedule/rows.h"

#include <algorithm>
#include <unordered_map>

#include "schedule/rules.h"
#include "tir/compare.h"
#include "tir/walk.h"

namespace tessera::schedule {
namespace {

using tir::Buffer;
using tir::BufferNode;
using tir::Expr;
using tir::Stmt;

// Row memory beyond this would not stay in the first cache, and threads' stacks are small.
constexpr std::int64_t kMaxRowBytes = 64 << 10;

struct Group {
  std::vector<Loop> common;
  std::size_t most = 0;       // loops that may be common
  std::vector<Stmt> members;  // inside of the common loops
};

// Indices at which each access of the members to `buffer` has exactly the loop's variable; -1:
// none.
int common_dimension(const std::vector<Access>& all, const Buffer& buffer, const Expr& var) {
  const std::size_t rank = buffer->shape.size();
  for (std::size_t d = 0; d < rank; ++d) {
    const bool everywhere = std::all_of(all.begin(), all.end(), [&](const Access& a) {
      return a.buffer != buffer || a.indices[d].same_as(var);
    });
    if (everywhere) return static_cast<int>(d);
  }
  return -1;
}

std::vector<Access> accesses_of(const std::vector<Stmt>& members) {
  std::vector<Access> all;
  for (const Stmt& s : members) {
    const std::vector<Access> more = accesses(s);
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

// Buffers that one member writes and another touches.
std::vector<Buffer> handed_over(const std::vector<Stmt>& members) {
  struct Use {
    std::size_t member;
    bool shared = false, written = false;
  };
  std::unordered_map<const BufferNode*, Use> uses;
  std::vector<Buffer> order;
  for (std::size_t i = 0; i < members.size(); ++i) {
    for (const Access& a : accesses(members[i])) {
      const auto [it, first] = uses.try_emplace(a.buffer.get(), Use{i});
      if (first) order.push_back(a.buffer);
      it->second.shared |= it->second.member != i;
      it->second.written |= a.is_store;
    }
  }
  std::erase_if(order, [&](const Buffer& b) {
    const Use& u = uses.at(b.get());
    return !u.shared || !u.written;
  });
  return order;
}

// The group with `nest` in it along `depth` common loops, if that is the same program.
std::optional<Group> joined(const Group& group, const Nest& nest, std::size_t depth) {
  Group out;
  tir::VarMap replaced;
  for (std::size_t i = 0; i < depth; ++i) {
    if (!tir::equal(group.common[i].extent, nest.loops[i].extent)) return std::nullopt;
    replaced[nest.loops[i].var.get()] = group.common[i].var;
    out.common.push_back(group.common[i]);
  }
  const auto inner = [&](const std::vector<Loop>& loops, const Stmt& body) {
    return wrap({loops.begin() + static_cast<std::ptrdiff_t>(depth), loops.end()}, body);
  };
  for (const Stmt& member : group.members) out.members.push_back(inner(group.common, member));
  out.members.push_back(tir::substitute(inner(nest.loops, nest.body), replaced));
  const std::vector<Access> all = accesses_of(out.members);
  for (const Buffer& b : handed_over(out.members)) {
    for (const Loop& l : out.common) {
      if (common_dimension(all, b, l.var) < 0) return std::nullopt;
    }
  }
  return out;
}

bool worth_joining(const Group& g, std::size_t group_depth, std::size_t nest_depth) {
  if (!handed_over(g.members).empty()) return true;
  return g.common.size() == group_depth && g.common.size() == nest_depth;
}

class RowFusion {
 public:
  RowFusion(const Kernel& kernel, const std::vector<Stmt>& all, bool in_blocks)
      : kernel_(kernel), in_blocks_(in_blocks) {
    for (const Stmt& s : all) count_users(s);
  }

  Kernel run() {
    Kernel out = kernel_;
    out.nests = fuse(kernel_.nests);
    std::erase_if(out.temporaries, [&](const Buffer& b) {
      return std::find(moved_.begin(), moved_.end(), b) != moved_.end();
    });
    return out;
  }

 private:
  void count_users(const Stmt& s) {
    for (const Access& a : accesses(s)) ++users_[a.buffer.get()];
  }

  std::vector<Stmt> fuse(const std::vector<Stmt>& nests) {
    std::vector<Stmt> out;
    for (std::size_t i = 0; i < nests.size();) {
      Nest first = peel(nests[i]);
      Group group{first.loops, most_common(first), {first.body}};
      std::size_t end = i + 1;
      for (; end < nests.size(); ++end) {
        auto wider = extended(group, peel(nests[end]));
        if (!wider) break;
        group = std::move(*wider);
      }
      out.push_back(end == i + 1 ? nests[i] : finish(group));
      i = end;
    }
    return out;
  }

  // Inside of all its loops a reduction has one accumulator: what prefers a block of them along the
  // innermost loop keeps that loop to itself.
  std::size_t most_common(const Nest& nest) const {
    return nest.loops.size() - (in_blocks_ && prefers_columns(nest) ? 1 : 0);
  }

  std::optional<Group> extended(const Group& group, const Nest& nest) const {
    const std::size_t most = std::min({group.most, nest.loops.size(), most_common(nest)});
    for (std::size_t depth = std::min(group.common.size(), most); depth > 0; --depth) {
      auto wider = joined(group, nest, depth);
      if (wider) wider->most = std::min(group.most, most_common(nest));
      if (wider && worth_joining(*wider, group.common.size(), nest.loops.size())) return wider;
    }
    return std::nullopt;
  }

  // One nest: what its rows keep to themselves first.
  Stmt finish(const Group& group) {
    const std::vector<Access> all = accesses_of(group.members);
    std::vector<Buffer> local;
    std::unordered_map<const BufferNode*, std::vector<bool>> dropped;
    tir::BufferMap rows;
    for (const Buffer& b : kernel_.temporaries) {
      const auto mine =
          std::count_if(all.begin(), all.end(), [&](const Access& a) { return a.buffer == b; });
      if (mine == 0 || mine != users_[b.get()]) continue;
      const auto dims = dropped_dimensions(all, b, group.common);
      Buffer row = row_of(b, dims);
      if (tir::constant_size(row) < 0 ||
          tir::constant_size(row) * row->dtype.size_bytes() > kMaxRowBytes) {
        continue;
      }
      rows[b.get()] = row;
      dropped[b.get()] = dims;
      local.push_back(row);
      moved_.push_back(b);
    }
    std::vector<Stmt> members;
    for (const Stmt& s : group.members) members.push_back(to_rows(s, rows, dropped));
    Stmt body = group.common.empty() ? tir::seq(members) : tir::seq(fuse(members));
    for (auto it = local.rbegin(); it != local.rend(); ++it) body = tir::Allocate::make(*it, body);
    return wrap(group.common, body);
  }

  static std::vector<bool> dropped_dimensions(const std::vector<Access>& all, const Buffer& b,
                                              const std::vector<Loop>& common) {
    std::vector<bool> drop(b->shape.size());
    for (std::size_t d = 0; d < drop.size(); ++d) drop[d] = tir::is_int(b->shape[d], 1);
    for (const Loop& l : common) {
      if (const int d = common_dimension(all, b, l.var); d >= 0) {
        drop[static_cast<std::size_t>(d)] = true;
      }
    }
    return drop;
  }

  static Buffer row_of(const Buffer& b, const std::vector<bool>& dropped) {
    std::vector<Expr> shape;
    for (std::size_t d = 0; d < dropped.size(); ++d) {
      if (!dropped[d]) shape.push_back(b->shape[d]);
    }
    return tir::make_buffer(b->name, b->dtype, shape, tir::MemoryScope::kStack);
  }

  // Accesses of moved buffers without the dimensions that the common loops fix.
  static Stmt to_rows(const Stmt& s, const tir::BufferMap& rows,
                      const std::unordered_map<const BufferNode*, std::vector<bool>>& dropped) {
    struct RowMutator : tir::Mutator {
      const tir::BufferMap& rows;
      const std::unordered_map<const BufferNode*, std::vector<bool>>& dropped;
      RowMutator(const tir::BufferMap& r,
                 const std::unordered_map<const BufferNode*, std::vector<bool>>& d)
          : rows(r), dropped(d) {}
      using Mutator::mutate;
      std::vector<Expr> kept(const Buffer& b, const std::vector<Expr>& indices) {
        std::vector<Expr> out;
        const std::vector<bool>& drop = dropped.at(b.get());
        for (std::size_t d = 0; d < drop.size(); ++d) {
          if (!drop[d]) out.push_back(mutate(indices[d]));
        }
        return out;
      }
      Expr mutate(const Expr& e) override {
        const auto* l = e.as<tir::Load>();
        if (l == nullptr || !rows.contains(l->buffer.get())) return Mutator::mutate(e);
        return tir::load(rows.at(l->buffer.get()), kept(l->buffer, l->indices));
      }
      Stmt mutate(const Stmt& st) override {
        const auto* t = st.as<tir::Store>();
        if (t == nullptr || !rows.contains(t->buffer.get())) return Mutator::mutate(st);
        return tir::Store::make(rows.at(t->buffer.get()), kept(t->buffer, t->indices),
                                mutate(t->value));
      }
    };
    return RowMutator(rows, dropped).mutate(s);
  }

  const Kernel& kernel_;
  bool in_blocks_;
  std::unordered_map<const BufferNode*, std::int64_t> users_;
  std::vector<Buffer> moved_;
};

}  // namespace

Kernel fuse_rows(const Kernel& kernel, const std::vector<Stmt>& all, bool in_blocks) {
  return RowFusion(kernel, all, in_blocks).run();
}

}  // namespace tessera::schedule
