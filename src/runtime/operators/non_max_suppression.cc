// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "runtime/operators/operators.h"
#include "runtime/operators/state.h"

namespace tessera::runtime {
namespace {

struct Corners {
  float y0, x0, y1, x1;
};

struct Candidate {
  float score;
  std::int32_t unused;
  std::int64_t box;
};
static_assert(sizeof(Candidate) == kScratchBytesPerElement);

struct Suppression {
  const float* boxes;
  const float* scores;
  std::int64_t* selected;
  std::int64_t classes, count, max_boxes;
  float iou, score;
  bool center_point;
  const OperatorState* state;
};

Corners corners(const Suppression& s, const float* box) {
  if (s.center_point) {
    const float half_width = box[2] / 2, half_height = box[3] / 2;
    return {box[1] - half_height, box[0] - half_width, box[1] + half_height, box[0] + half_width};
  }
  return {std::min(box[0], box[2]), std::min(box[1], box[3]), std::max(box[0], box[2]),
          std::max(box[1], box[3])};
}

float area(const Corners& c) { return (c.y1 - c.y0) * (c.x1 - c.x0); }

bool overlaps(const Corners& a, const Corners& b, float iou) {
  const float height = std::min(a.y1, b.y1) - std::max(a.y0, b.y0);
  const float width = std::min(a.x1, b.x1) - std::max(a.x0, b.x0);
  if (height <= 0 || width <= 0 || area(a) <= 0 || area(b) <= 0) return false;
  const float both = height * width;
  return both / (area(a) + area(b) - both) > iou;
}

// Candidates of one batch and class, best first. Gives their number.
std::int64_t sorted_candidates(const Suppression& s, const float* scores, Candidate* candidates) {
  std::int64_t found = 0;
  for (std::int64_t i = 0; i < s.count; ++i) {
    if (scores[i] > s.score) candidates[found++] = {scores[i], 0, i};
  }
  std::sort(candidates, candidates + found, [](const Candidate& a, const Candidate& b) {
    return a.score > b.score || (a.score == b.score && a.box < b.box);
  });
  return found;
}

// Selects of each (batch, class) in [begin, end). Its rows begin at row pair * count; a row of -1
// ends them if there is room.
std::int32_t select(void* closure, std::int64_t begin, std::int64_t end, std::int32_t worker) {
  const auto& s = *static_cast<const Suppression*>(closure);
  auto* candidates = static_cast<Candidate*>(s.state->scratch_of(worker));
  for (std::int64_t pair = begin; pair < end; ++pair) {
    const float* boxes = s.boxes + pair / s.classes * s.count * 4;
    std::int64_t* rows = s.selected + pair * s.count * 3;
    const std::int64_t found = sorted_candidates(s, s.scores + pair * s.count, candidates);
    std::int64_t kept = 0;
    for (std::int64_t i = 0; i < found && kept < s.max_boxes; ++i) {
      const Corners box = corners(s, boxes + candidates[i].box * 4);
      const bool free =
          std::none_of(rows, rows + kept * 3, [&, column = 0](std::int64_t other) mutable {
            return column++ % 3 == 2 && overlaps(box, corners(s, boxes + other * 4), s.iou);
          });
      if (!free) continue;
      const std::int64_t row[3] = {pair / s.classes, pair % s.classes, candidates[i].box};
      std::copy_n(row, 3, rows + 3 * kept++);
    }
    if (kept < s.count) rows[3 * kept] = -1;
  }
  return 0;
}

// Moves the rows of all pairs together; gives their number, and fills the rest with zeros.
std::int64_t gather(std::int64_t* rows, std::int64_t pairs, std::int64_t count) {
  std::int64_t total = 0;
  for (std::int64_t pair = 0; pair < pairs; ++pair) {
    const std::int64_t* from = rows + pair * count * 3;
    for (std::int64_t i = 0; i < count && from[3 * i] >= 0; ++i, ++total) {
      std::memmove(rows + 3 * total, from + 3 * i, 3 * sizeof *rows);
    }
  }
  std::fill(rows + 3 * total, rows + 3 * pairs * count, 0);
  return total;
}

template <class T>
T* data(const tessera_tensor* t) {
  return reinterpret_cast<T*>(static_cast<char*>(t->data) + t->byte_offset);
}

}  // namespace
}  // namespace tessera::runtime

std::int32_t tessera_non_max_suppression(const tessera_call* call, tessera_tensor** tensors,
                                         std::int32_t count) {
  using namespace tessera::runtime;
  OperatorState* state = operator_state(call);
  if (state == nullptr) return 1;
  if (count != 7 || tensors[0]->ndim != 3 || tensors[1]->ndim != 3) {
    return operator_error(call, "non_max_suppression: five operands and two results");
  }
  const std::int64_t batches = tensors[1]->shape[0];
  Suppression s = {};
  s.boxes = data<const float>(tensors[0]);
  s.scores = data<const float>(tensors[1]);
  s.max_boxes = *data<const std::int64_t>(tensors[2]);
  s.iou = *data<const float>(tensors[3]);
  s.score = *data<const float>(tensors[4]);
  s.selected = data<std::int64_t>(tensors[5]);
  s.classes = tensors[1]->shape[1];
  s.count = tensors[1]->shape[2];
  std::int64_t center_point = 0;
  if (!state->graph.attr_int(*state->node, "center_point_box", &center_point)) {
    return operator_error(call, "non_max_suppression: an attribute is not a number");
  }
  s.center_point = center_point != 0;
  s.state = state;
  if (!state->reserve(static_cast<std::uint64_t>(s.count), call->threads)) {
    return operator_error(call, "non_max_suppression: out of memory");
  }
  const std::int64_t pairs = batches * s.classes;
  if (const std::int32_t status = tessera_parallel_for(call, pairs, select, &s)) return status;
  *data<std::int64_t>(tensors[6]) = gather(s.selected, pairs, s.count);
  return 0;
}
