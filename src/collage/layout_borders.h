// SPDX-License-Identifier: Apache-2.0
// What values take that go from a candidate in one layout to one in another: a transpose, once for
// each order that somebody reads.
#pragma once

#include <map>
#include <vector>

#include "collage/search.h"

namespace tessera::collage {

// Forms of a value are bits: the first its own, then one for each other order of its dimensions.
using Forms = std::uint32_t;
constexpr Forms kPlainForm = 1;

class LayoutBorders final : public Borders {
 public:
  struct Value {
    Index index = 0;
    Forms form = kPlainForm;
  };
  struct Candidate {
    std::vector<Value> reads, gives;  // ascending; others are plain
    std::vector<Index> reads_plain;
  };

  explicit LayoutBorders(const DataflowGraph& graph) : graph_(graph) {}

  // By the place in the list that is searched.
  void add(Candidate candidate) { candidates_.push_back(std::move(candidate)); }
  // What making a form of a value takes where there is none but its own, and the other way round.
  void set_seconds(Index value, Forms form, double to_form, double to_plain);

  Crossed cross(const std::vector<ValueForms>& before, std::size_t candidate,
                const Covered& covered) const override;

 private:
  struct Seconds {
    double to_form = 0, to_plain = 0;
  };
  double make(ValueForms& value, Forms wanted) const;
  bool is_read_later(Index value, const Covered& covered) const;

  const DataflowGraph& graph_;
  std::vector<Candidate> candidates_;
  std::map<std::pair<Index, Forms>, Seconds> seconds_;
};

}  // namespace tessera::collage
