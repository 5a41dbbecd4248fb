// SPDX-License-Identifier: Apache-2.0
#include "ops/records/table.h"

#include <algorithm>
#include <array>

#include "ops/records/record.h"
#include "support/check.h"

namespace tessera::ops {
namespace {

constexpr const Operator* kRecords[] = {
#define OP(Name) &k##Name,
#include "ops/records/ops.def"
#undef OP
};

class Table final : public relay::OperatorTable {
 public:
  Table() {
    std::copy(std::begin(kRecords), std::end(kRecords), sorted_.begin());
    std::sort(sorted_.begin(), sorted_.end(), [](auto* a, auto* b) { return a->name < b->name; });
  }
  const Operator* find(std::string_view name) const override {
    auto it = std::lower_bound(sorted_.begin(), sorted_.end(), name,
                               [](auto* a, std::string_view n) { return a->name < n; });
    return it != sorted_.end() && (*it)->name == name ? *it : nullptr;
  }
  std::span<const Operator* const> all() const override { return sorted_; }

 private:
  std::array<const Operator*, std::size(kRecords)> sorted_;
};

}  // namespace

const relay::OperatorTable& operators() {
  static const Table table;
  return table;
}

const relay::Operator& op(std::string_view name) {
  const Operator* found = operators().find(name);
  TESSERA_CHECK(found != nullptr, "there is no operator `{}`", name);
  return *found;
}

}  // namespace tessera::ops
