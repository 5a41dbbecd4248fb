// SPDX-License-Identifier: Apache-2.0
// Prints the functions of one text: the counter of temporaries, the names of locals and the
// constants run on from function to function.
#pragma once

#include <string>
#include <vector>

#include "relay/print_value.h"
#include "relay/text/metadata.h"
#include "relay/text/print.h"

namespace tessera::relay {

class Printer {
 public:
  Printer(const PrintOptions& options, const ConstantPool* pool) : options_(options), pool_(pool) {}

  // Hands out the names of the function's parameters before all others, so that they keep their
  // own.
  void reserve_params(const Function& f);
  // `def @name(...) -> ... {`, body, `}` and a newline.
  std::string definition(std::string_view name, const Function& f);
  // `fn (...) -> ... {`, body, `}`.
  std::string literal(const Function& f);
  ConstantTable& constants() { return constants_; }

 private:
  friend class FunctionPrinter;
  const PrintOptions& options_;
  const ConstantPool* pool_;
  NameAllocator names_;
  ConstantTable constants_;
  const Function* reserved_ = nullptr;
  std::vector<std::string> reserved_names_;
  int next_temporary_ = 0;
};

}  // namespace tessera::relay
