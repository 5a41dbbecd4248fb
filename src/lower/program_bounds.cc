// SPDX-License-Identifier: Apache-2.0
#include "lower/program_bounds.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "tir/print.h"
#include "tir/prover.h"
#include "tir/verify_bounds.h"
#include "tir/walk.h"

namespace tessera::lower {
namespace {

using tir::Buffer;
using tir::Expr;
using tir::Interval;
using tir::Polynomial;
using tir::Prover;
using tir::Stmt;

// An element of a vector of sizes in the host's memory.
using Element = std::pair<const tir::BufferNode*, std::int64_t>;

class ProgramBounds {
 public:
  explicit ProgramBounds(const Module& module) : module_(module) {}

  std::vector<std::string> run(const std::string& name, const tir::PrimFunc& program) {
    name_ = name;
    for (const Expr& dim : program.dims) {
      Interval range{0, Interval::kAny};
      const auto symbol = module_.symbols.find(dim.as<tir::Var>()->name);
      if (symbol != module_.symbols.end()) {
        range.min = std::max<std::int64_t>(0, symbol->second.min);
        if (symbol->second.max >= 0) range.max = symbol->second.max;
      }
      prover_.add_size(dim, range);
    }
    block(program.body);
    return std::move(found_);
  }

 private:
  template <class... A>
  void report(fmt::format_string<A...> text, A&&... args) {
    found_.push_back(fmt::format("`{}`: {}", name_, fmt::format(text, std::forward<A>(args)...)));
  }

  // What a vector of sizes holds stays until it is stored to.
  Polynomial size(const Expr& e) {
    const auto* load = e.as<tir::Load>();
    if (load == nullptr || load->indices.size() != 1) return prover_.form(e);
    const std::int64_t* at = tir::as_int(load->indices[0]);
    if (at == nullptr) return prover_.form(e);
    const auto [it, fresh] = elements_.try_emplace(Element(load->buffer.get(), *at));
    if (fresh) it->second = prover_.form(e);
    return it->second;
  }

  // The size of the memory; views are made before the checks that they rely on.
  Polynomial bytes(const Buffer& b) {
    if (const auto it = sources_.find(b.get()); it != sources_.end()) return bytes(it->second);
    Polynomial count = b->dtype.size_bytes();
    for (const Expr& extent : b->shape) count = count * size(extent);
    return count;
  }

  void block(const Stmt& s) {
    tir::BlockWalk rest(s);
    while (const Stmt* next = rest.next()) statement(*next);
  }

  // What may run or not leaves nothing known but what was known before and is still true.
  template <class F>
  void inner(const Stmt& s, F&& assume) {
    std::set<const tir::BufferNode*> stored;
    tir::for_each_node(s, [&](const Stmt& part) {
      if (const auto* store = part.as<tir::Store>()) stored.insert(store->buffer.get());
      if (const auto* call = part.as<tir::CallKernel>()) {
        for (const Buffer& b : call->outputs) stored.insert(b.get());
      }
    });
    std::erase_if(elements_, [&](const auto& e) { return stored.contains(e.first.first); });
    const auto outside = elements_;
    ++depth_;
    {
      const Prover::Scope scope(prover_);
      assume();
      block(s);
    }
    --depth_;
    elements_ = outside;
  }

  void statement(const Stmt& s) {
    tir::visit(
        s, [&](const tir::CallKernel& n) { call(n); },
        [&](const tir::View& n) { sources_[n.buffer.get()] = n.source; },
        [&](const tir::AllocateConst& n) {
          if (n.buffer->dtype.is_int()) {
            constants_[n.buffer.get()] = &module_.constants.resolve(n.data);
          }
        },
        [&](const tir::LetStmt& n) { prover_.bind(n.var, size(n.value)); },
        [&](const tir::Store& n) {
          if (n.buffer->dtype != kInt64 || n.indices.size() != 1) return;
          elements_[Element(n.buffer.get(), *tir::as_int(n.indices[0]))] = prover_.form(n.value);
        },
        [&](const tir::IfThenElse& n) {
          inner(n.then_case, [] {});
          if (n.else_case) inner(n.else_case, [] {});
        },
        [&](const tir::While& n) { inner(n.body, [] {}); },
        [&](const tir::For& n) { inner(n.body, [] {}); },
        // Neither says or changes what a size is; a walk takes sequences apart.
        [](const tir::Allocate&) {}, [](const tir::Reserve&) {}, [](const tir::Require&) {},
        [](const tir::Evaluate&) {}, [](const tir::Seq&) {});
  }

  void call(const tir::CallKernel& n) {
    const auto kernel = module_.prim_funcs.find(n.symbol);
    for (const Buffer& b : n.outputs) {
      std::erase_if(elements_, [&](const auto& e) { return e.first.first == b.get(); });
    }
    if (kernel == module_.prim_funcs.end()) return of_back_end(n);
    const tir::PrimFunc& f = kernel->second;
    std::vector<Polynomial> dims;
    for (const Expr& e : n.dims) dims.push_back(size(e));
    {
      const Prover::Scope scope(prover_);
      for (std::size_t i = 0; i < dims.size(); ++i) prover_.bind(f.dims[i], dims[i]);
      parameters(n, f.inputs, n.inputs);
      parameters(n, f.outputs, n.outputs);
      for (std::size_t i = 0; i < dims.size(); ++i) prover_.bind_named(f.dims[i], dims[i]);
      tir::KnownData data = constants_of(n, f);
      const Case known(n.symbol, dims, data.buffers);
      if (!proven_.contains(known)) body(n.symbol, f, data);
      if (depth_ == 0) proven_.insert(known);
    }
    for (std::size_t i = 0; i < dims.size(); ++i) prover_.bind(f.dims[i], dims[i]);
    learn(n, f);
  }

  void parameters(const tir::CallKernel& n, const std::vector<Buffer>& taken,
                  const std::vector<Buffer>& given) {
    for (std::size_t i = 0; i < taken.size(); ++i) {
      Polynomial wanted = taken[i]->dtype.size_bytes();
      for (const Expr& extent : taken[i]->shape) wanted = wanted * prover_.form(extent);
      if (prover_.is_at_most(wanted, bytes(given[i]))) continue;
      report("`{}` of `{}` is not proven to be as small as `{}`, which it is given", taken[i]->name,
             n.symbol, given[i]->name);
    }
  }

  // Constants of integers, which may be indices.
  tir::KnownData constants_of(const tir::CallKernel& n, const tir::PrimFunc& f) const {
    tir::KnownData data;
    data.resolve = [this](const ConstantValue& c) { return &module_.constants.resolve(c); };
    for (std::size_t i = 0; i < f.inputs.size(); ++i) {
      const auto it = constants_.find(n.inputs[i].get());
      if (it != constants_.end()) data.buffers.emplace(f.inputs[i].get(), it->second);
    }
    return data;
  }

  void body(const std::string& symbol, const tir::PrimFunc& f, const tir::KnownData& data) {
    for (const std::string& sentence : tir::unproven_accesses(f, prover_, data)) {
      const std::string told = fmt::format("`{}`: {}", symbol, sentence);
      if (std::find(found_.begin(), found_.end(), told) == found_.end()) found_.push_back(told);
    }
  }

  // What a kernel requires of sizes, and the sizes that it finds. It is a block of its own: what
  // is in a loop or branch may not have run.
  void learn(const tir::CallKernel& n, const tir::PrimFunc& f) {
    tir::BlockWalk rest(f.body);
    // Data are other ones in each call.
    prover_.loaded = [](const tir::Load&) { return Prover::Loaded{{}, false}; };
    while (const Stmt* s = rest.next()) {
      if (const auto* let = s->as<tir::LetStmt>()) prover_.bind(let->var, let->value);
      if (const auto* require = s->as<tir::Require>()) prover_.assume(require->condition);
      if (const auto* store = s->as<tir::Store>()) {
        const auto at = std::find(f.outputs.begin(), f.outputs.end(), store->buffer);
        const bool is_vector = store->buffer->dtype == kInt64 && store->indices.size() == 1;
        if (at == f.outputs.end() || !is_vector) continue;
        const Buffer& given = n.outputs[static_cast<std::size_t>(at - f.outputs.begin())];
        const std::int64_t* index = tir::as_int(store->indices[0]);
        if (index != nullptr) {
          elements_[Element(given.get(), *index)] = prover_.form(store->value);
        }
      }
    }
    prover_.loaded = nullptr;
  }

  void of_back_end(const tir::CallKernel& n) {
    const Extern& e = module_.externs.at(n.symbol);
    const auto compare = [&](const std::vector<Type>& types, const std::vector<Buffer>& given) {
      for (std::size_t i = 0; i < std::min(types.size(), given.size()); ++i) {
        const Shape& shape = types[i].shape();
        for (std::size_t d = 0; d < shape.size(); ++d) {
          const auto number = shape[d].as_constant();
          if (!number || d >= given[i]->shape.size()) continue;
          if (prover_.is_at_most(*number, size(given[i]->shape[d]))) continue;
          report("dimension {} of `{}` is not proven to be {}, as `{}` takes it", d, given[i]->name,
                 *number, n.symbol);
        }
      }
    };
    compare(e.inputs, n.inputs);
    compare(e.outputs, n.outputs);
  }

  const Module& module_;
  std::string name_;
  Prover prover_;
  std::map<Element, Polynomial> elements_;
  std::map<const tir::BufferNode*, Buffer> sources_;           // of views
  std::map<const tir::BufferNode*, const Tensor*> constants_;  // of integers
  using Case = std::tuple<std::string, std::vector<Polynomial>,
                          std::map<const tir::BufferNode*, const Tensor*>>;
  std::set<Case> proven_;  // wherever they are called
  std::vector<std::string> found_;
  int depth_ = 0;  // of branches and loops
};

}  // namespace

std::vector<std::string> unproven_accesses(const Module& module) {
  std::vector<std::string> all;
  for (const auto& [name, f] : module.prim_funcs) {
    if (!f.is_host) continue;
    std::vector<std::string> found = ProgramBounds(module).run(name, f);
    all.insert(all.end(), found.begin(), found.end());
  }
  return all;
}

}  // namespace tessera::lower
