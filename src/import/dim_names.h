// SPDX-License-Identifier: Apache-2.0
// What a model's file calls its dimensions, as symbols. Each name has a symbol of its own: itself
// where it is one, else a readable one that no other name has. `past + seq` is a sum only where
// `past` and `seq` are names of dimensions of inputs themselves; `seq-len` alone is a name.
#pragma once

#include <map>
#include <set>
#include <string>

#include "import/onnx_model.h"
#include "types/dim.h"

namespace tessera::import {

class DimNames {
 public:
  // The names of the graph's inputs, in their order.
  explicit DimNames(const onnx::GraphProto& graph);

  bool contains(const std::string& name) const { return sizes_.count(name) != 0; }
  // The size of a name that an input's dimension has.
  const Dim& size_of(const std::string& name) const { return sizes_.at(name); }
  // Takes a symbol for a dimension without a name.
  std::string fresh_symbol(const std::string& hint);
  // The file's names by symbol, where they differ.
  const std::map<std::string, std::string>& renamed() const { return renamed_; }

 private:
  std::map<std::string, Dim> sizes_;  // by the file's name
  std::set<std::string> symbols_;
  std::map<std::string, std::string> renamed_;
};

}  // namespace tessera::import
