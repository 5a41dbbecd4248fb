// SPDX-License-Identifier: Apache-2.0
// What graphs are made of: the operators' samples, and these calls for operands of other types.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "ops/samples/samples.h"
#include "tests/fuzz/open_sizes.h"

namespace tessera::fuzz {

struct Recipe {
  const relay::Operator* op = nullptr;
  ops::Sample sample;
};
// By operator; those that back ends take come several times. With open sizes those, too, that
// decoders with caches have.
const std::vector<std::vector<Recipe>>& recipes(bool is_open);

// Is the input's domain the one that samples have unless they say otherwise?
bool has_default_domain(const ops::SampleInput& input);
// Indices and sizes: right for the sample's shapes alone.
bool has_own_domain_of_integers(const ops::Sample& sample);

// The sample's call with parameters of other types; nothing if it does not allow them.
std::optional<relay::Function> with_operands(const relay::Function& sample,
                                             const std::vector<Type>& operands);

// The sample's call with parameters for its constants, and by parameter the value of the constant
// that it stands for, or nothing: sizes that it decides are then known at run time.
struct OpenedConstants {
  relay::Function function;
  std::vector<std::optional<Tensor>> values;
};
OpenedConstants with_inputs_for_constants(const relay::Function& sample);

// A sample's call with other sizes, open ones among them, other data types, and its dimensions in
// another order. What is one size in the sample stays one, and so does each of its types.
class Adaptation {
 public:
  Adaptation(const Recipe& recipe, const OpenSizes& sizes, Random& random);

  const ops::Sample& sample() const { return sample_; }
  // Takes an operand's type as it is; false, and nothing happens, where it does not fit.
  bool take(std::size_t operand, const Type& type, Random& random);
  // The type of an operand that is new.
  Type fresh_type(std::size_t operand, Random& random);
  // The domain of an operand, in one run; nothing where no integer is in it.
  std::optional<ops::SampleInput> domain(std::size_t operand, const Type& type,
                                         const Sizes& run) const;

 private:
  // Dimensions of one name have one size; one without a name stays as it is.
  std::optional<std::int64_t> name_of(std::size_t operand, std::size_t axis) const;
  void change_layouts(Random& random);
  DType changed(DType dtype, Random& random);

  ops::Sample sample_;
  const OpenSizes& sizes_;
  const int openness_;                // of four sizes, how many are open
  std::map<std::int64_t, Dim> dims_;  // by name
  std::map<DType, DType> dtypes_;
};

}  // namespace tessera::fuzz
