// SPDX-License-Identifier: Apache-2.0
#include "collage/layout_borders.h"

#include <algorithm>

namespace tessera::collage {

void LayoutBorders::set_seconds(Index value, Forms form, double to_form, double to_plain) {
  seconds_[{value, form}] = {to_form, to_plain};
}

// Seconds until the value is there in the form that is wanted, which is noted. What is there in
// another order becomes plain first.
double LayoutBorders::make(ValueForms& value, Forms wanted) const {
  if ((value.forms & wanted) != 0) return 0;
  double seconds = 0;
  if ((value.forms & kPlainForm) == 0) {
    seconds += seconds_.at({value.value, value.forms & ~(value.forms - 1)}).to_plain;
    value.forms |= kPlainForm;
  }
  if (wanted != kPlainForm) {
    seconds += seconds_.at({value.value, wanted}).to_form;
    value.forms |= wanted;
  }
  return seconds;
}

bool LayoutBorders::is_read_later(Index value, const Covered& covered) const {
  const auto& readers = graph_[value].outputs;
  return std::any_of(readers.begin(), readers.end(), [&](Index reader) {
    return reader >= covered.next && !covered.beyond.contains(reader);
  });
}

Borders::Crossed LayoutBorders::cross(const std::vector<ValueForms>& before, std::size_t candidate,
                                      const Covered& covered) const {
  Crossed out;
  std::vector<ValueForms> values = before;
  const auto at = [&](Index value) -> ValueForms& {
    const auto found = std::lower_bound(values.begin(), values.end(), value,
                                        [](const ValueForms& v, Index i) { return v.value < i; });
    if (found != values.end() && found->value == value) return *found;
    return *values.insert(found, {value, kPlainForm});
  };
  const Candidate& c = candidates_[candidate];
  for (const Value& read : c.reads) out.seconds += make(at(read.index), read.form);
  for (const Index index : c.reads_plain) out.seconds += make(at(index), kPlainForm);
  for (const Value& given : c.gives) at(given.index).forms = given.form;
  for (const ValueForms& value : values) {
    if (value.forms != kPlainForm && is_read_later(value.value, covered)) {
      out.forms.push_back(value);
    }
  }
  return out;
}

}  // namespace tessera::collage
