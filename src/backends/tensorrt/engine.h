// SPDX-License-Identifier: Apache-2.0
// The shim, compiled against the user's headers: it builds an engine of a graph here, and runs it
// where the model does.
#pragma once

#include <string>

#include "backends/tensorrt/graph.h"
#include "backends/tensorrt/installation.h"
#include "byoc/made_parts.h"
#include "toolchain/toolchain.h"

namespace tessera::backends::tensorrt {

struct Built {
  byoc::MadePart part;      // an engine, or why there is none of this graph
  bool is_for_good = true;  // that follows from the graph, and may not pass, as a full GPU does
};

class Shim {
 public:
  static Result<Shim> make(const Installation& installation, Toolchain& toolchain);

  // A static library of what travels in the model.
  const std::string& archive() const { return archive_; }

  // Built in a process of its own: building may start CUDA, and costs itself where it crashes. An
  // error: there are no engines here, as without a device.
  Result<Built> build(const std::string& symbol, const Graph& graph,
                      const std::vector<Value>& results) const;

 private:
  Shim(std::string library_path, std::string builder, std::string archive)
      : library_path_(std::move(library_path)),
        builder_(std::move(builder)),
        archive_(std::move(archive)) {}

  std::string library_path_;  // of TensorRT
  std::string builder_;       // a shared library
  std::string archive_;
};

}  // namespace tessera::backends::tensorrt
