// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/illegal.h"

#include <functional>

#include <fmt/format.h>

#include "byoc/annotations.h"
#include "driver/placement.h"
#include "module/text.h"
#include "ops/inference/infer_types.h"
#include "ops/records/table.h"
#include "relay/rewrite.h"
#include "tests/fuzz/partition.h"
#include "tests/fuzz/random.h"

namespace tessera::fuzz {
namespace {

using relay::Copier;
using relay::Function;
using relay::NodeId;

// What is refused is refused before any code is made.
class NoToolchain final : public Toolchain {
 public:
  Result<std::vector<std::string>> compile(std::span<const CompileJob>) override {
    return fail(error(Code::kToolFailed, {}, "code was made of an illegal partition"));
  }
  Result<std::string> archive(std::span<const std::string>) override { return std::string(); }
  std::string identity() const override { return "none"; }
};

// A text that must be refused on its way through the passes and the placement.
struct Attempt {
  std::string kind, text, passes;
};

std::string text_of(Function f) {
  Module module;
  module.functions.emplace("main", std::move(f));
  return print(module);
}

class Spoiler {
 public:
  Spoiler(const Graph& graph, std::uint64_t seed)
      : f_(graph.function), seed_(seed), random_(derived_seed(seed, "illegal", 0)) {}

  std::optional<Attempt> run() {
    using Way = std::optional<Attempt> (Spoiler::*)();
    constexpr Way kWays[] = {&Spoiler::cycle,      &Spoiler::other_end,     &Spoiler::other_begin,
                             &Spoiler::lost_begin, &Spoiler::lost_end,      &Spoiler::lone_end,
                             &Spoiler::capture,    &Spoiler::unknown_name,  &Spoiler::recursion,
                             &Spoiler::not_called, &Spoiler::wrong_argument};
    const auto first = static_cast<std::size_t>(random_.below(static_cast<int>(std::size(kWays))));
    for (std::size_t i = 0; i < std::size(kWays); ++i) {
      if (auto made = (this->*kWays[(first + i) % std::size(kWays)])()) return made;
    }
    return std::nullopt;
  }

 private:
  static constexpr const char* kPartition = "partition-graph";
  const char* merged_or_not() {
    return random_.below(2) == 0 ? kPartition : "merge-compiler-regions,partition-graph";
  }

  Function marked() {
    const Groups groups = random_groups(f_, seed_);
    return with_marks(f_, groups, Ends::kEachUse);
  }
  template <class Is>
  NodeId any_mark(const Function& f, Is&& is) {
    std::vector<NodeId> marks;
    for (std::size_t i = 0; i < f.num_nodes(); ++i) {
      if (is(f, NodeId(i))) marks.push_back(NodeId(i));
    }
    return marks.empty() ? NodeId() : random_.among(marks);
  }

  // Two copies of a value and a comparison of the two: the first and the last make a region that
  // needs what the one in between makes of it.
  std::optional<Attempt> cycle() {
    const NodeId value = any_mark(f_, is_tensor_of_body);
    if (!value) return std::nullopt;
    const Function f = relay::rewrite(f_, {}, {}, [&](Copier& c, relay::RegionId region) {
      const NodeId result = c.map(f_.region(region).result);
      if (region != Function::kBody) return result;
      relay::FunctionBuilder& b = c.builder();
      const NodeId before = b.call(ops::op("copy"), {c.map(value)});
      const NodeId between = b.call(ops::op("copy"), {before});
      const NodeId fields[] = {b.call(ops::op("equal"), {before, between}), result};
      return b.tuple(fields);
    });
    return with_cycle(f);
  }
  std::optional<Attempt> with_cycle(Function f) {
    f.result_annotation = {};
    auto typed = ops::infer_types(std::move(f));
    TESSERA_CHECK(typed.has_value(), "a cycle: {}", render(typed.error()));
    const NodeId last = typed->operands(typed->result())[0];
    const NodeId before = typed->operands(last)[0], between = typed->operands(last)[1];
    Groups groups = random_groups(*typed, seed_);
    groups.of[typed->result().index()] = Groups::kNone;
    groups.of[before.index()] = groups.of[last.index()] = static_cast<int>(groups.targets.size());
    groups.targets.push_back(random_.among(backend_names()));
    groups.of[between.index()] = Groups::kNone;
    if (random_.below(2) == 0) {
      groups.of[between.index()] = static_cast<int>(groups.targets.size());
      groups.targets.push_back(random_.among(backend_names()));
    }
    TESSERA_CHECK(order_of_groups(*typed, groups.of).empty(), "a cycle that is none");
    return Attempt{"cycle", text_of(with_marks(*typed, groups, Ends::kEachUse)), kPartition};
  }

  std::optional<Attempt> replaced(const char* kind, const Function& f, NodeId mark,
                                  const std::function<NodeId(Copier&)>& by) {
    if (!mark) return std::nullopt;
    const Function spoilt = relay::rewrite(f, [&](Copier& c, NodeId id) -> std::optional<NodeId> {
      if (id != mark) return std::nullopt;
      return by(c);
    });
    return Attempt{kind, text_of(spoilt), merged_or_not()};
  }
  std::optional<Attempt> other_end() {
    const Function f = marked();
    const NodeId mark = any_mark(f, byoc::is_end);
    return replaced("an end of another target", f, mark, [&](Copier& c) {
      return byoc::make_end(c.builder(), c.operands(mark)[0], "another");
    });
  }
  std::optional<Attempt> other_begin() {
    const Function f = marked();
    const NodeId mark = any_mark(f, byoc::is_begin);
    return replaced("a begin of another target", f, mark, [&](Copier& c) {
      return byoc::make_begin(c.builder(), c.operands(mark)[0], "another");
    });
  }
  std::optional<Attempt> lost_begin() {
    const Function f = marked();
    const NodeId mark = any_mark(f, byoc::is_begin);
    return replaced("a lost begin", f, mark, [&](Copier& c) { return c.operands(mark)[0]; });
  }
  // A region that nothing leaves any more is none: another end must remain.
  std::optional<Attempt> lost_end() {
    const Function f = marked();
    const NodeId mark = any_mark(f, [](const Function& g, NodeId id) {
      return byoc::is_end(g, id) && has_another_end(g, id);
    });
    return replaced("a lost end", f, mark, [&](Copier& c) { return c.operands(mark)[0]; });
  }
  static bool has_another_end(const Function& f, NodeId end) {
    for (std::size_t i = 0; i < f.num_nodes(); ++i) {
      const NodeId id(i);
      if (id != end && byoc::is_end(f, id) && f.operands(id)[0] == f.operands(end)[0]) return true;
    }
    return false;
  }
  std::optional<Attempt> lone_end() {
    const NodeId value = any_mark(f_, is_tensor_of_body);
    return replaced("an end without a begin", f_, value, [&](Copier& c) {
      return byoc::make_end(c.builder(), c.copy(value), random_.among(backend_names()));
    });
  }

  // `fn (%p) {Compiler} { (%p, %captured) }`
  std::optional<Attempt> capture() {
    const NodeId value = any_mark(f_, is_tensor_of_body);
    return replaced("a capture", f_, value, [&](Copier& c) {
      const NodeId outer = c.copy(value);
      relay::FunctionBuilder& b = c.builder();
      const relay::RegionId body = b.begin_region();
      const NodeId inner = b.param("p", f_.type(value));
      const NodeId fields[] = {inner, outer};
      b.end_region(b.tuple(fields));
      const NodeId arguments[] = {outer};
      return b.project(b.call_value(b.literal(body, compiler_attrs("captures")), arguments), 0);
    });
  }

  static bool is_tensor_of_body(const Function& f, NodeId id) {
    return f[id].region == Function::kBody && f.op(id) != nullptr && f.type(id).is_tensor();
  }
  relay::Attrs compiler_attrs(const std::string& symbol, const std::string& compiler = "") {
    const std::string name = compiler.empty() ? random_.among(backend_names()) : compiler;
    return {{"Compiler", name}, {"Primitive", 1}, {"global_symbol", symbol}};
  }

  // The graph with a call of @callee around one of its values, and the text of that function.
  std::optional<Attempt> with_callee(const char* kind, const std::function<Function(Type)>& make,
                                     const std::function<NodeId(Copier&, NodeId)>& use) {
    const NodeId value = any_mark(f_, is_tensor_of_body);
    if (!value) return std::nullopt;
    Module module;
    module.functions.emplace("main", relay::rewrite(f_, [&](Copier& c, NodeId id) {
                               if (id != value) return std::optional<NodeId>();
                               return std::optional(use(c, c.copy(value)));
                             }));
    module.functions.emplace("callee", make(f_.type(value)));
    return Attempt{kind, print(module), ""};
  }
  static NodeId called(Copier& c, NodeId value) {
    return c.builder().call_value(c.builder().global("callee"), {&value, 1});
  }
  Function identity(const Type& type, relay::Attrs attrs) {
    relay::FunctionBuilder b;
    const NodeId param = b.param("p", type);
    return b.finish(b.call(ops::op("copy"), {param}), std::move(attrs), type);
  }

  // Strictly, each named back end must be there.
  std::optional<Attempt> unknown_name() {
    return with_callee(
        "a back end that is not there",
        [&](const Type& type) { return identity(type, compiler_attrs("callee", "nowhere")); },
        called);
  }
  std::optional<Attempt> recursion() {
    return with_callee(
        "a compiler function that calls itself",
        [&](const Type& type) {
          relay::FunctionBuilder b;
          const NodeId param = b.param("p", type);
          const NodeId call = b.call_value(b.global("callee"), {&param, 1});
          return b.finish(call, compiler_attrs("callee"), type);
        },
        called);
  }
  std::optional<Attempt> not_called() {
    return with_callee(
        "a compiler function as a value",
        [&](const Type& type) { return identity(type, compiler_attrs("callee")); },
        [](Copier& c, NodeId value) {
          relay::FunctionBuilder& b = c.builder();
          const NodeId fields[] = {b.global("callee"), value};
          return b.project(b.tuple(fields), 1);
        });
  }
  std::optional<Attempt> wrong_argument() {
    return with_callee(
        "a compiler function for another type",
        [&](const Type& type) {
          Shape shape = type.shape();
          shape.emplace_back(7);
          return identity(tensor_type(shape, type.dtype()), compiler_attrs("callee"));
        },
        called);
  }

  const Function& f_;
  const std::uint64_t seed_;
  Random random_;
};

Result<void> whole_way(const Attempt& attempt) {
  const auto file = std::make_shared<SourceFile>(SourceFile{"case.relay", attempt.text});
  TESSERA_TRY(Module module, parse_module(file, ops::operators()));
  TESSERA_TRY(module, run_passes(std::move(module), attempt.passes));
  driver::CompileOptions options;
  options.strict = true;
  NoToolchain toolchain;
  byoc::GreedyPlacer placer;
  TESSERA_TRY(auto parts, driver::partition_module(std::move(module), options, toolchain, placer));
  TESSERA_TRY_VOID(driver::compile_regions(std::move(parts), options, {}, toolchain, placer));
  return {};
}

}  // namespace

IllegalOutcome try_illegal(const Graph& graph, std::uint64_t seed) {
  const auto attempt = Spoiler(graph, seed).run();
  if (!attempt) return {};
  IllegalOutcome outcome{attempt->kind, std::nullopt, attempt->text};
  try {
    const auto done = whole_way(*attempt);
    if (done) {
      outcome.problem = "it was accepted";
    } else if (done.error().list.front().code == Code::kToolFailed) {
      outcome.problem = "code was made of it";
    } else {
      for (const Diagnostic& d : done.error().list) {
        if (to_string(d.location).empty() || d.message.empty())
          outcome.problem = "it was refused without a place or reason: " + render(done.error());
      }
    }
  } catch (const std::exception& problem) {
    outcome.problem = fmt::format("it throws: {}", problem.what());
  }
  return outcome;
}

}  // namespace tessera::fuzz
