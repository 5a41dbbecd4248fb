// SPDX-License-Identifier: Apache-2.0
// Writes the JSON graphs that runtime/json_graph.h reads: the one schema of all back ends of the
// runtime-module flavour (docs/backends.md).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "types/type.h"

namespace tessera::byoc {

// A size as the graphs hold it: "128", "seq", "2*seq+1".
std::string size_text(const Dim& size);

class JsonGraphWriter {
 public:
  // Output `output` of node `node`.
  struct Entry {
    std::uint32_t node = 0, output = 0;
  };
  using Attributes = std::map<std::string, std::vector<std::string>>;

  // A parameter of the function; in the order of the signature.
  Entry input(std::string name, const Type& type);
  // Data that the artifact holds under this name.
  Entry constant(std::string name, const std::vector<std::int64_t>& shape, DType dtype,
                 Attributes attributes = {});
  // A call. No size may be unknown; symbolic ones are texts, whose values the runtime binds.
  Entry kernel(std::string name, std::vector<Entry> inputs, Attributes attributes,
               const std::vector<Type>& outputs);

  // Adds to, or replaces, an attribute of a node.
  void set(std::uint32_t node, const std::string& attribute, std::vector<std::string> texts);

  std::string text(const std::vector<Entry>& heads) const;

 private:
  struct Output {
    Shape shape;
    DType dtype;
  };
  struct Node {
    std::string op, name;
    std::vector<Entry> inputs;
    Attributes attributes;
    std::vector<Output> outputs;
  };
  Entry add(Node node);

  std::vector<Node> nodes_;
};

}  // namespace tessera::byoc
