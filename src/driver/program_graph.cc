// SPDX-License-Identifier: Apache-2.0
#include "driver/program_graph.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "tir/walk.h"

namespace tessera::driver {
namespace {

using tir::Buffer;
using tir::BufferNode;
using tir::Stmt;

class ProgramWalk {
 public:
  explicit ProgramWalk(const tir::PrimFunc& main) {
    for (const Buffer& b : main.inputs) inputs_.insert(b.get());
    for (const Buffer& b : main.outputs) outputs_.insert(b.get());
  }

  void walk(const Stmt& block) {
    tir::BlockWalk rest(block);
    while (const Stmt* s = rest.next()) step(*s);
  }

  ProgramGraph take() {
    for (auto& [calls, tensors] : edges_) {
      graph_.edges.push_back({calls.first, calls.second, std::move(tensors)});
    }
    return std::move(graph_);
  }

 private:
  // Of each buffer with memory of its own the calls that may have written it last.
  using Writers = std::map<const BufferNode*, std::vector<std::size_t>>;

  void step(const Stmt& s) {
    if (const auto* view = s.as<tir::View>()) {
      sources_[view->buffer.get()] = source_of(view->source);
    } else if (const auto* call = s.as<tir::CallKernel>()) {
      add(*call);
    } else if (const auto* loop = s.as<tir::For>()) {
      walk(loop->body);
    } else if (const auto* loop = s.as<tir::While>()) {
      walk(loop->body);
    } else if (const auto* branch = s.as<tir::IfThenElse>()) {
      add(*branch);
    }
  }

  Buffer source_of(const Buffer& buffer) const {
    const auto known = sources_.find(buffer.get());
    return known == sources_.end() ? buffer : known->second;
  }

  void add(const tir::CallKernel& call) {
    const std::size_t index = graph_.calls.size();
    ProgramCall& made = graph_.calls.emplace_back();
    made.symbol = call.symbol;
    for (const Buffer& b : call.inputs) {
      follow(b, index);
      const Buffer source = source_of(b);
      if (inputs_.contains(source.get())) add_once(made.inputs, source->name);
    }
    for (const Buffer& b : call.outputs) follow(b, index);
    for (const Buffer& b : call.outputs) {
      const Buffer source = source_of(b);
      writers_[source.get()] = {index};
      if (outputs_.contains(source.get())) add_once(made.outputs, source->name);
    }
  }

  void follow(const Buffer& buffer, std::size_t reader) {
    const auto writers = writers_.find(source_of(buffer).get());
    if (writers == writers_.end()) return;
    for (const std::size_t writer : writers->second) {
      add_once(edges_[{writer, reader}], buffer);
    }
  }

  void add(const tir::IfThenElse& branch) {
    const Writers before = writers_;
    walk(branch.then_case);
    const Writers after_then = std::exchange(writers_, before);
    walk(branch.else_case);
    for (const auto& [buffer, calls] : after_then) {
      std::vector<std::size_t>& all = writers_[buffer];
      for (const std::size_t call : calls) add_once(all, call);
    }
  }

  template <class T>
  static void add_once(std::vector<T>& list, const T& item) {
    if (std::find(list.begin(), list.end(), item) == list.end()) list.push_back(item);
  }

  std::set<const BufferNode*> inputs_, outputs_;
  std::map<const BufferNode*, Buffer> sources_;  // of views
  Writers writers_;
  std::map<std::pair<std::size_t, std::size_t>, std::vector<Buffer>> edges_;
  ProgramGraph graph_;
};

}  // namespace

ProgramGraph program_graph(const tir::PrimFunc& main) {
  ProgramWalk walk(main);
  walk.walk(main.body);
  return walk.take();
}

}  // namespace tessera::driver
