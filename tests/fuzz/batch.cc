// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/batch.h"

#include <algorithm>

#include <fmt/format.h>

#include "ops/evaluation/compare.h"
#include "ops/evaluation/evaluate_function.h"
#include "tests/fuzz/compiled.h"
#include "tests/fuzz/device_kernels.h"
#include "tests/fuzz/proofs.h"
#include "tests/fuzz/random.h"
#include "tests/onnx_gate/workers.h"

namespace tessera::fuzz {
namespace {

constexpr std::string_view kRefused = "refused ";

// What the compiler says of itself or of us, as text.
template <class F>
auto text_of_exceptions(F&& work) -> decltype(work()) {
  try {
    return work();
  } catch (const std::exception& problem) {
    return fail(error(Code::kMalformedGraph, {}, "it throws: {}", problem.what()));
  }
}

std::optional<std::string> difference(std::span<const Tensor> found,
                                      std::span<const Tensor> wanted) {
  if (found.size() != wanted.size()) {
    return fmt::format("{} results instead of {}", found.size(), wanted.size());
  }
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const double tolerance = ops::graph_tolerance(wanted[i].dtype);
    const std::string differs = ops::first_difference(found[i], wanted[i], tolerance);
    if (!differs.empty()) return fmt::format("result {}: {}", i, differs);
  }
  return std::nullopt;
}

bool are_same_bits(std::span<const Tensor> a, std::span<const Tensor> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Tensor& x, const Tensor& y) {
    return x.type() == y.type() && std::ranges::equal(x.blob->bytes(), y.blob->bytes());
  });
}

// What the graph computes in each run, and whether inference said so.
Result<RunResults> wanted_of(const Graph& graph) {
  const std::vector<Type> types = flatten(graph.function.type(graph.function.result()));
  RunResults wanted;
  for (const Run& run : graph.runs) {
    wanted.push_back(reference(graph, run));
    for (std::size_t i = 0; i < types.size(); ++i) {
      const Type type = closed(types[i], run.sizes), found = wanted.back()[i].type();
      if (is_dynamic(type) || type == found) continue;
      return fail(error(Code::kMalformedGraph, {}, "result {} has type {}, inference says {}", i,
                        to_string(found), to_string(type)));
    }
  }
  return wanted;
}

// The partition alone must not change what the reference computes.
Result<Module> checked_partition(const Case& c, const std::string& name, const RunResults& wanted) {
  TESSERA_TRY(Module module, partitioned(c.graph.function, name, style_of(c), c.seed));
  for (std::size_t r = 0; r < wanted.size(); ++r) {
    const auto found = ops::evaluate(module, module.functions.at(name), c.graph.runs[r].inputs);
    if (const auto differs = difference(found, wanted[r])) {
      return fail(error(Code::kMalformedGraph, {}, "partitioned, without any code: {}", *differs));
    }
  }
  return module;
}

std::string text_of_failure(const Diagnostics& why) {
  const Diagnostic& first = why.list.front();
  const bool is_refusal = first.code == Code::kNotSupported;
  const std::string text = render(why);
  return is_refusal ? fmt::format("{}{}: {}", kRefused, code_text(first.code), text) : text;
}

// The cases of a batch, through one choice of targets after the other.
class Batch {
 public:
  explicit Batch(const std::vector<Case>& cases)
      : cases_(cases), wanted_(cases.size()), parts_(cases.size()) {
    out_.failures.resize(cases.size());
    out_.undecided.resize(cases.size());
  }

  void prepare() {
    for (std::size_t i = 0; i < cases_.size(); ++i) {
      auto part = text_of_exceptions([&]() -> Result<Module> {
        TESSERA_TRY_VOID(device_kernels(cases_[i].graph.function));
        TESSERA_TRY_VOID(device_kernels(large_graph(cases_[i].seed)));
        TESSERA_TRY_VOID(proofs_are_kept(cases_[i].graph.function));
        TESSERA_TRY(wanted_[i], wanted_of(cases_[i].graph));
        return checked_partition(cases_[i], name_of(i), wanted_[i]);
      });
      if (part) {
        parts_[i] = *std::move(part);
      } else {
        out_.failures[i] = text_of_failure(part.error());
      }
    }
  }

  void run(const Choice& choice) {
    Model model;
    std::vector<std::size_t> in_model;
    for (std::size_t i = 0; i < cases_.size(); ++i) {
      if (out_.failures[i] || !is_for(choice, i)) continue;
      model.add(cases_[i].graph, parts_[i], name_of(i));
      in_model.push_back(i);
    }
    if (model.empty()) return;
    const auto ran = text_of_exceptions([&]() -> Result<Ran> {
      TESSERA_TRY(const Module module, model.finish());
      return compile_and_run(module, choice, model.runs());
    });
    if (!ran) {
      for (const std::size_t i : in_model) {
        out_.failures[i] = text_of_failure(ran.error());
        out_.undecided[i] = in_model.size() > 1;
      }
      return;
    }
    for (const auto& [name, count] : ran->operators) out_.counts["operators on " + name] += count;
    out_.counts["graphs by " + choice.name] += in_model.size();
    judge(choice, in_model, *ran);
  }

  BatchOutcome outcome() && { return std::move(out_); }

 private:
  // One with a partition of its own would be the same for all. Nor is there anything to see of a
  // back end that takes nothing.
  bool is_for(const Choice& choice, std::size_t i) {
    if (choice.takes_all) return true;
    if (style_of(cases_[i]) != Style::kNone) return false;
    return choice.targets.size() == 1 || takes_part(cases_[i].graph, choice.targets);
  }

  static std::string name_of(std::size_t i) { return fmt::format("g{}", i); }

  void judge(const Choice& choice, const std::vector<std::size_t>& in_model, const Ran& ran) {
    std::size_t next = 0;
    for (const std::size_t i : in_model) {
      for (std::size_t r = 0; r < wanted_[i].size(); ++r) {
        const auto problem = problem_of(ran, r, next, wanted_[i][r]);
        if (!problem || out_.failures[i]) continue;
        out_.failures[i] = fmt::format("{}, {}: {}", choice.name, sizes_text(i, r), *problem);
      }
      next += wanted_[i].at(0).size();
    }
  }

  static std::optional<std::string> problem_of(const Ran& ran, std::size_t r, std::size_t begin,
                                               const std::vector<Tensor>& wanted) {
    const auto part = [&](const std::vector<Tensor>& all) {
      const std::size_t first = std::min(begin, all.size());
      return std::span(all).subspan(first, std::min(wanted.size(), all.size() - first));
    };
    const auto first = part(ran.first[r]);
    if (auto differs = difference(first, wanted)) return differs;
    if (!are_same_bits(first, part(ran.again[r]))) {
      const auto differs = difference(part(ran.again[r]), wanted);
      return differs ? "another run: " + *differs : "another run has other bits";
    }
    if (are_same_bits(first, part(ran.in_place[r]))) return std::nullopt;
    return "in the memory of inputs it has other bits";
  }

  std::string sizes_text(std::size_t i, std::size_t r) const {
    std::string text;
    for (const auto& [name, size] : cases_[i].graph.runs[r].sizes) {
      text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, size);
    }
    return text.empty() ? "sizes are numbers" : text;
  }

  const std::vector<Case>& cases_;
  std::vector<RunResults> wanted_;
  std::vector<Module> parts_;
  BatchOutcome out_;
};

}  // namespace

Case random_case(std::uint64_t seed, Shapes shapes, DeviceType device) {
  return {seed, shapes, device, random_graph(seed, shapes)};
}

Style style_of(const Case& c) {
  if (c.device != DeviceType::kCpu) return Style::kNone;
  const std::uint64_t choice = derived_seed(c.seed, "style", 0);
  if (c.shapes == Shapes::kOpen && choice / 6 % 2 == 0) return Style::kNone;
  return static_cast<Style>(choice % 6);
}

std::optional<std::string> refusal(const std::string& failure) {
  if (!failure.starts_with(kRefused)) return std::nullopt;
  return failure.substr(0, failure.find(':'));
}

BatchOutcome run_batch(const std::vector<Case>& cases, std::uint64_t list_seed) {
  Batch batch(cases);
  batch.prepare();
  if (cases.empty()) return std::move(batch).outcome();
  for (const Choice& choice : choices(cases[0].shapes, cases[0].device, list_seed)) {
    batch.run(choice);
  }
  return std::move(batch).outcome();
}

namespace {

// Texts that end in a zero each: of each case its failure and `?` if it is undecided, then back
// ends and numbers in turns.
std::string written(const BatchOutcome& outcome) {
  std::string text;
  for (std::size_t i = 0; i < outcome.failures.size(); ++i) {
    text += outcome.failures[i].value_or("") + '\0' + (outcome.undecided[i] ? "?" : "") + '\0';
  }
  for (const auto& [name, count] : outcome.counts)
    text += name + '\0' + std::to_string(count) + '\0';
  return text;
}

BatchOutcome read(const std::string& text, std::size_t cases) {
  BatchOutcome outcome;
  std::size_t at = 0;
  const auto next = [&] {
    const std::size_t begin = at, end = text.find('\0', at);
    at = end + 1;
    return text.substr(begin, end - begin);
  };
  for (std::size_t i = 0; i < cases; ++i) {
    const std::string failure = next();
    outcome.failures.push_back(failure.empty() ? std::nullopt : std::optional(failure));
    outcome.undecided.push_back(!next().empty());
  }
  while (at < text.size()) {
    const std::string name = next();
    outcome.counts[name] = std::stoull(next());
  }
  return outcome;
}

// A crash is said of every case.
BatchOutcome run_guarded(const std::vector<Case>& cases, std::uint64_t list_seed) {
  constexpr unsigned kMostSeconds = 900;
  BatchOutcome outcome;
  onnx_gate::run_in_workers(
      1, 1, kMostSeconds, [&](std::size_t) { return written(run_batch(cases, list_seed)); },
      [&](std::size_t, const std::string& text) {
        if (text.starts_with("crash:") || text.starts_with("hang:")) {
          outcome.failures.assign(cases.size(), text);
          outcome.undecided.assign(cases.size(), cases.size() > 1);
        } else {
          outcome = read(text, cases.size());
        }
      });
  return outcome;
}

}  // namespace

BatchOutcome run_apart(const std::vector<Case>& cases, std::uint64_t list_seed) {
  BatchOutcome outcome = run_guarded(cases, list_seed);
  std::vector<std::size_t> undecided;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (outcome.undecided[i]) undecided.push_back(i);
  }
  const std::size_t middle = (undecided.size() + 1) / 2;
  for (std::size_t begin = 0; begin < undecided.size(); begin += middle) {
    const std::size_t end = std::min(begin + middle, undecided.size());
    std::vector<Case> half;
    for (std::size_t k = begin; k < end; ++k) half.push_back(cases[undecided[k]]);
    const BatchOutcome of_half = run_apart(half, list_seed);
    for (std::size_t k = begin; k < end; ++k) {
      outcome.failures[undecided[k]] = of_half.failures[k - begin];
    }
    for (const auto& [name, count] : of_half.counts) outcome.counts[name] += count;
  }
  return outcome;
}

}  // namespace tessera::fuzz
