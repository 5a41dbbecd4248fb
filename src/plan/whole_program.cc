// SPDX-License-Identifier: Apache-2.0
#include "plan/whole_program.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tessera::plan {
namespace {

using tir::Buffer;
using tir::Expr;
using tir::Stmt;

class CallOrder {
 public:
  explicit CallOrder(const Module& module) : module_(module) {}

  void visit(const std::string& symbol) {
    const auto function = module_.prim_funcs.find(symbol);
    if (function == module_.prim_funcs.end() || !seen_.insert(symbol).second) return;
    tir::for_each_node(function->second.body, [&](const Stmt& s) {
      if (const auto* call = s.as<tir::CallKernel>()) visit(call->symbol);
    });
    order.push_back(symbol);
  }

  std::vector<std::string> order;

 private:
  const Module& module_;
  std::set<std::string> seen_;
};

class BufferRewriter {
 public:
  BufferRewriter(const tir::BufferMap& buffers, const std::function<Stmt(const Stmt&)>& define)
      : buffers_(buffers), define_(define) {}

  Stmt block(const Stmt& body) {
    return tir::map_block(
        body, [&](const Stmt& s) { return mapped(s, [&](const Stmt& b) { return block(b); }); },
        [&](const Stmt& definition, const Stmt& scope) {
          const Stmt changed = mapped(definition, [&](const Stmt&) { return scope; });
          return define_ ? define_(changed) : changed;
        });
  }

 private:
  template <class F>
  Stmt mapped(const Stmt& s, F&& body) {
    return tir::map_children(
        s, tir::Overloaded{[&](const Stmt& b) -> Stmt { return body(b); },
                           [&](const Expr& e) -> Expr { return tir::substitute(e, {}, buffers_); },
                           [&](const Buffer& b) -> Buffer {
                             const auto found = buffers_.find(b.get());
                             return found == buffers_.end() ? b : found->second;
                           }});
  }

  const tir::BufferMap& buffers_;
  const std::function<Stmt(const Stmt&)>& define_;
};

bool runs_at_once(tir::ForKind kind) {
  return kind != tir::ForKind::kSerial && kind != tir::ForKind::kUnrolled;
}

}  // namespace

Result<std::vector<std::string>> called_functions(const Module& module, std::string_view pass) {
  if (!module.prim_funcs.contains("main")) {
    return fail(error(Code::kUnknownName, {},
                      "{} plans the loop function `main` and what it calls, and there is none",
                      pass)
                    .with_remedy("write the program as `@main = tir { ... }`"));
  }
  CallOrder calls(module);
  calls.visit("main");
  return calls.order;
}

Result<std::vector<Pool>> pools_of(const Module& module) {
  const auto main = module.prim_funcs.find("main");
  if (main == module.prim_funcs.end()) return std::vector<Pool>();
  const auto text = main->second.attrs.find(kPoolsAttr);
  if (text == main->second.attrs.end()) return std::vector<Pool>();
  std::vector<std::string> texts;
  for (std::size_t begin = 0; begin <= text->second.size();) {
    const std::size_t end = std::min(text->second.find("; ", begin), text->second.size());
    texts.push_back(text->second.substr(begin, end - begin));
    begin = end + 2;
  }
  return parse_pools(texts);
}

std::string pools_text(const std::vector<Pool>& pools) {
  std::vector<std::string> texts;
  for (const Pool& pool : pools) texts.push_back(to_string(pool));
  return fmt::format("{}", fmt::join(texts, "; "));
}

Stmt with_buffers(const Stmt& block, const tir::BufferMap& buffers,
                  const std::function<Stmt(const Stmt&)>& define) {
  return BufferRewriter(buffers, define).block(block);
}

void for_each_allocation(const Stmt& body, const std::function<void(const Buffer&)>& f) {
  tir::BlockWalk rest(body);
  while (const Stmt* s = rest.next()) {
    if (const auto* made = s->as<tir::Allocate>()) {
      if (made->buffer->scope == tir::MemoryScope::kGlobal) f(made->buffer);
    } else if (const auto* loop = s->as<tir::For>()) {
      if (!runs_at_once(loop->loop)) for_each_allocation(loop->body, f);
    } else if (tir::scope_of(*s) == nullptr) {
      tir::for_each_child(*s, [&](const Stmt& inner) { for_each_allocation(inner, f); });
    }
  }
}

}  // namespace tessera::plan
