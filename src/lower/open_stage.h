// SPDX-License-Identifier: Apache-2.0
// A stage while definitions are still being substituted into it.
#pragma once

#include <vector>

#include "lower/stages.h"
#include "tir/index_form.h"

namespace tessera::lower {

struct OpenStage {
  Stage stage;
  tir::Bounds bounds;  // of its axes

  // The stage of a definition, in which nothing has been substituted.
  static OpenStage of(const tir::TensorRef& tensor);

  // A size that is open counts as 256.
  double iterations() const;
  // At how many different places the stage reads the tensor, and at how many of these what was read
  // from memory is the last index.
  struct NumPlaces {
    std::size_t all = 0, by_data = 0;
  };
  NumPlaces places(const tir::TensorNode* tensor) const;
  // Writes the definition where it is read: as a let for each place, unless its value is trivial.
  void substitute(const tir::TensorRef& tensor);

 private:
  bool substitute_innermost(const tir::TensorRef& tensor);
  void insert(StageLet let);
};

// The product of extents; those that are open count as 256.
double product(const std::vector<tir::Expr>& extents);

}  // namespace tessera::lower
