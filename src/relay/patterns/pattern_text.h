// SPDX-License-Identifier: Apache-2.0
// The text of patterns (docs/patterns.md):
//
//   table my {
//     composite "my.dense_bias_relu" {
//       %dense = nn.dense(*, *);
//       nn.relu((add | nn.bias_add)(%dense, *))?
//     }
//   }
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "diagnostics/diagnostic.h"
#include "relay/operator.h"
#include "relay/patterns/pattern_table.h"

namespace tessera::relay {

// Tables in order. All errors that can be found are reported, each with its place.
Result<std::vector<PatternTable>> parse_patterns(std::shared_ptr<const SourceFile> file,
                                                 const OperatorTable& operators);

// Adds the tables of a text to those that are known; a name that is taken is an error.
Result<void> add_patterns(std::vector<PatternTable>& tables, std::shared_ptr<const SourceFile> file,
                          const OperatorTable& operators);

// `table NAME { ... }`, without the checks; parse_patterns() reads it back.
std::string print(const PatternTable& table);
// What follows `composite "x"`: ` = pattern;`, or a block where parts have names.
std::string print(const Pattern& pattern);
// On one line, with shared parts written out and what is deep left out: for messages.
std::string print_short(const Pattern& pattern);

}  // namespace tessera::relay
