// SPDX-License-Identifier: Apache-2.0
// The sizes inside of a region as functions of those that its tensors have: a run knows nothing
// else. For tensors of `past+seq` and `seq`, `past` is a difference; of `batch*seq` alone, `batch`
// is not known, though `64*batch*seq` is.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "relay/function.h"
#include "types/type.h"

namespace tessera::byoc {

class RegionSizes {
 public:
  // A size that a run reads off a tensor, under the name that it has in the region's graph.
  struct Read {
    Dim size;
    std::string name;
  };

  // `taken`: names of symbols that must not be given to something else.
  RegionSizes(const std::vector<Type>& tensors, std::set<std::string> taken);
  // The sizes of a region's parameters and results.
  static RegionSizes of(const relay::Function& region);

  // In terms of what is read; nothing where that does not decide it. Of what is read, its name: the
  // run finds the value there.
  std::optional<Dim> derived(const Dim& size) const;
  // With the sizes derived; nothing where one of them is not. Not of a tuple.
  std::optional<Type> derived(const Type& type) const;
  // In order of first appearance; symbols by themselves come first.
  const std::vector<Read>& reads() const { return reads_; }

 private:
  void read(const Dim& size);
  bool solve(const Dim& size, const Dim& value);
  bool is_known(const Dim& size) const;
  std::optional<Dim> as_multiple(const Dim& size) const;

  std::vector<Read> reads_;
  std::set<std::string> taken_, known_;
  std::map<std::string, Dim> solved_;  // symbols by known names, and by symbols not solved for
};

}  // namespace tessera::byoc
