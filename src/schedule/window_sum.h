// SPDX-License-Identifier: Apache-2.0
// Convolutions whose operands have channels in common (depthwise, or in groups), recognised: which
// loops are whose, and how many results a thread of a device makes.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "schedule/element_sum.h"
#include "tir/walk.h"

namespace tessera::schedule {

// What a sum reads of an image: an element, or 0 where there is a condition and it does not hold.
struct ImageRead {
  const tir::Load* load = nullptr;
  tir::Expr condition;
};
// Of an element as it is, or made wider.
std::optional<ImageRead> image_read(const tir::Expr& value);

// target[..., place, ..., channel, ...] = sum of image * weight, over windows that overlap along
// the loop over places. The weight moves with the channel and no other loop around the sum.
struct WindowSum : ElementSum {
  explicit WindowSum(ElementSum sum) : ElementSum(std::move(sum)) {}

  std::size_t place = 0, channel = 0;  // of the loops

  // image: `load` as `dtype`, or 0 where there is a condition and it does not hold.
  const tir::Load* load = nullptr;
  tir::Expr condition, weight;
  DType dtype;

  // The reduction's loop along the windows. With `slides`, a step of the place is `stride` of its
  // steps, so that neighbours find most of their elements in one row.
  std::size_t along = 0;
  bool slides = false;
  std::int64_t stride = 1;
  std::optional<std::size_t> run;  // the reduction's loop in which the image lies in memory

  // What one thread computes: neighbours along both loops, from so many elements of the run.
  std::int64_t places = 1, channels = 1, terms = 1;
  bool own_channels = false;  // each channel has an image of its own

  // Elements of the image, along the window, that a thread has at a time.
  std::int64_t width() const;
  tir::Expr image(const tir::VarMap& values, const tir::Expr& also_if) const;
};

// `threads`: how many the device wants before each is to make more than one result.
std::optional<WindowSum> recognise_window_sum(const Nest& nest, std::int64_t threads);

}  // namespace tessera::schedule
