// SPDX-License-Identifier: Apache-2.0
// Every sample of every operator with open sizes, run with sizes that fit and sizes that do not. A
// run ends with an error exactly where inference refuses the same sizes as numbers, and no access
// is outside of its buffer: what an operator takes for granted about sizes is checked.
#include <map>
#include <random>
#include <set>
#include <stdexcept>

#include "lower/main.h"
#include "lower/specialise.h"
#include "lower/testing/host_run.h"
#include "ops/evaluation/evaluate_function.h"
#include "ops/records/table.h"

namespace tessera::lower {
namespace {

using Sizes = std::map<std::string, std::int64_t>;

// Which dimensions of a sample's parameters are open; bit i is the i-th one of all.
std::uint64_t count_dimensions(const ops::Sample& sample) {
  std::uint64_t count = 0;
  for (const ops::SampleInput& input : sample.inputs) count += input.type.rank();
  return count;
}

std::vector<Type> opened(const ops::Sample& sample, std::uint64_t which, Sizes& sizes) {
  std::vector<Type> types;
  std::uint64_t at = 0;
  for (const ops::SampleInput& input : sample.inputs) {
    Shape shape = input.type.shape();
    for (Dim& dim : shape) {
      const std::string name = fmt::format("s{}", at);
      if ((which >> at++ & 1) == 0) continue;
      sizes[name] = dim.constant();
      dim = Dim::symbol(name);
    }
    types.push_back(tensor_type(std::move(shape), input.type.dtype()));
  }
  return types;
}

Type closed(const Type& type, const Sizes& sizes) {
  std::map<std::string, Dim> values;
  for (const auto& [name, size] : sizes) values[name] = Dim(size);
  Shape shape = type.shape();
  for (Dim& dim : shape) dim = dim.substitute(values);
  return tensor_type(std::move(shape), type.dtype());
}

// The sample's sizes with some of them changed.
Sizes changed(Sizes sizes, std::mt19937_64& random) {
  constexpr std::int64_t kOthers[] = {0, 1, 2, 3, 5, 7};
  for (auto& [name, size] : sizes) {
    if (random() % 3 == 0) size = kOthers[random() % std::size(kOthers)];
  }
  return sizes;
}

// Integers are only those that are an index wherever there is an element.
std::vector<Tensor> inputs_of_types(ops::Sample sample, const std::vector<Type>& types) {
  for (std::size_t i = 0; i < types.size(); ++i) {
    sample.inputs[i].type = types[i];
    if (types[i].dtype().is_int()) sample.inputs[i].low = sample.inputs[i].high = 0;
  }
  return ops::random_inputs(sample, 7);
}

struct Outcome {
  int right = 0, refused = 0;
};

class OpenSample {
 public:
  explicit OpenSample(std::string_view text) : sample_(ops::parse_sample(text)) {}

  void run(Outcome& outcome) {
    const std::uint64_t count = count_dimensions(sample_);
    if (count == 0) return;
    std::set<std::uint64_t> choices{(std::uint64_t{1} << count) - 1};
    for (std::uint64_t d = 0; d < count; ++d) choices.insert(std::uint64_t{1} << d);
    for (int i = 0; i < 3; ++i) choices.insert(random_() & ((std::uint64_t{1} << count) - 1));
    for (const std::uint64_t which : choices) run(which, outcome);
  }

 private:
  void run(std::uint64_t which, Outcome& outcome) {
    Sizes sizes;
    const std::vector<Type> types = opened(sample_, which, sizes);
    if (sizes.empty()) return;
    Module module;
    auto f = specialise(sample_.function, relay::Function::kBody, types, module.constants);
    if (!f) return;  // not with such sizes open
    module.functions.emplace("main", std::move(*f));
    const auto lowered = lower(std::move(module));
    if (!lowered) return;
    for (int i = 0; i < 10; ++i) {
      std::vector<Type> numbers;
      const Sizes values = i == 0 ? sizes : changed(sizes, random_);
      for (const Type& t : types) numbers.push_back(closed(t, values));
      compare(*lowered, types, numbers, outcome);
    }
  }

  void compare(const Module& lowered, const std::vector<Type>& types,
               const std::vector<Type>& numbers, Outcome& outcome) {
    const auto known =
        specialise(sample_.function, relay::Function::kBody, numbers, lowered.constants);
    const std::vector<Tensor> inputs = inputs_of_types(sample_, numbers);
    const std::string what =
        fmt::format("{}\n  compiled for {}\n  run with {}", sample_.text,
                    to_string(tuple_type(types)), to_string(tuple_type(numbers)));
    try {
      const std::vector<Tensor> found = testing::HostRun(lowered, inputs).outputs();
      if (!known) {
        ADD_FAILURE() << what << "\n  runs, and must not: " << render(known.error());
        return;
      }
      // What there is of nothing, the mean of no elements for one, is not compared.
      const bool is_empty = std::any_of(inputs.begin(), inputs.end(),
                                        [](const Tensor& t) { return t.num_elements() == 0; });
      if (!is_empty) testing::expect_close(testing::evaluated(*known, inputs), found, what);
      ++outcome.right;
    } catch (const std::length_error& e) {
      ADD_FAILURE() << what << "\n  " << e.what();
    } catch (const InternalError& e) {
      const std::string why = e.what();
      if (why.find("outside of") != std::string::npos || why.find("larger") != std::string::npos) {
        ADD_FAILURE() << what << "\n  leaves its memory: " << why;
      } else if (known && !is_stricter(numbers)) {
        ADD_FAILURE() << what << "\n  must run, and does not: " << why;
      }
      ++outcome.refused;
    }
  }

  // Loops of `einsum` take a size that is open for that of the others, where 1 as a number is
  // broadcast, and those of floats of eight bits the sizes of scales for the data's.
  bool is_stricter(const std::vector<Type>& numbers) const {
    const std::string_view op(sample_.text.data(), sample_.text.find('('));
    return (op == "einsum" || op.ends_with("_float8")) &&
           std::any_of(numbers.begin(), numbers.end(), [](const Type& t) {
             return std::find(t.shape().begin(), t.shape().end(), Dim(1)) != t.shape().end();
           });
  }

  const ops::Sample sample_;
  std::mt19937_64 random_{18};
};

// What it requires is about the data, of which these are random.
bool requires_of_data(const relay::Operator& op) { return op.name == "check_indices"; }

// What a run of the sample does with integers far outside of everything: nothing but results or a
// refusal. Null where it stays in its memory.
std::string fault_of_wild_data(std::string_view text) {
  ops::Sample sample = ops::parse_sample(text);
  Module module;
  std::vector<Type> types;
  for (ops::SampleInput& input : sample.inputs) {
    types.push_back(input.type);
    if (input.type.dtype().is_int()) std::tie(input.low, input.high) = std::pair(-100, 100);
  }
  auto f = specialise(sample.function, relay::Function::kBody, types, module.constants);
  if (!f) return {};
  module.functions.emplace("main", std::move(*f));
  const auto lowered = lower(std::move(module));
  if (!lowered) return {};
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    try {
      testing::HostRun(*lowered, ops::random_inputs(sample, seed));
    } catch (const std::exception& e) {
      const std::string why = e.what();
      if (why.find("outside of") != std::string::npos) return why;
    }
  }
  return {};
}

TEST(WildData, LeaveNoMemory) {
  for (const relay::Operator* op : ops::operators().all()) {
    if (op->compute == nullptr || requires_of_data(*op)) continue;
    for (const std::string_view text : op->samples) {
      EXPECT_EQ(fault_of_wild_data(text), "") << text;
    }
  }
}

TEST(OpenSamples, RunWhereInferenceAcceptsTheSizesAndInsideOfTheirMemory) {
  Outcome outcome;
  for (const relay::Operator* op : ops::operators().all()) {
    if (op->compute == nullptr || requires_of_data(*op)) continue;
    for (const std::string_view text : op->samples) {
      // Without axes it drops the dimensions that are 1 as numbers.
      const bool drops_ones =
          op->name == "squeeze" && text.find("axis=[") == std::string_view::npos;
      if (!drops_ones) OpenSample(text).run(outcome);
    }
  }
  EXPECT_GT(outcome.right, 1000);
  EXPECT_GT(outcome.refused, 1000);
}

}  // namespace
}  // namespace tessera::lower
