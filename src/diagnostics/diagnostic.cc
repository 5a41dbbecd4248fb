// SPDX-License-Identifier: Apache-2.0
#include "diagnostics/diagnostic.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

namespace tessera {

Diagnostic&& Diagnostic::note(Location at, std::string text) && {
  notes.push_back({Severity::kNote, code, std::move(at), std::move(text), {}, {}});
  return std::move(*this);
}

Diagnostic&& Diagnostic::with_remedy(std::string text) && {
  remedy = std::move(text);
  return std::move(*this);
}

void Diagnostics::add(Diagnostics other) {
  list.insert(list.end(), std::make_move_iterator(other.list.begin()),
              std::make_move_iterator(other.list.end()));
}

namespace {

struct CodeEntry {
  Code code;
  std::string_view text, explanation;
};
constexpr CodeEntry kCodes[] = {
#define CODE(name, text, explanation) {Code::name, text, explanation},
#include "diagnostics/codes.def"
#undef CODE
};

}  // namespace

std::string_view code_text(Code code) { return kCodes[static_cast<int>(code)].text; }
std::string_view code_explanation(Code code) { return kCodes[static_cast<int>(code)].explanation; }

bool find_code(std::string_view text, Code& out) {
  for (const auto& entry : kCodes) {
    if (entry.text != text) continue;
    out = entry.code;
    return true;
  }
  return false;
}

}  // namespace tessera
