// SPDX-License-Identifier: Apache-2.0
// Attributes of calls and functions.
#include "relay/text/parse_value.h"
#include "relay/text/parser.h"
#include "relay/words.h"

namespace tessera::relay {

// `name =`, where the name may have dots.
bool Parser::at_attribute() {
  std::size_t k = 0;
  if (peek(k).kind != TokenKind::kWord) return false;
  while (at_punct(".", k + 1) && peek(k + 2).kind == TokenKind::kWord) k += 2;
  return at_punct("=", k + 1);
}

std::string Parser::dotted_name() {
  std::string name(text_of(take()));
  while (at_punct(".") && peek(1).kind == TokenKind::kWord) {
    take();
    name += '.';
    name += text_of(take());
  }
  return name;
}

void Parser::attributes(Attrs& attrs, bool of_function) {
  while (at_attribute()) {
    const Token start = peek();
    std::string name = dotted_name();
    expect("=");
    AttrValue value = attr_value();
    // Where a function runs is decided by targets here.
    if (name == "virtual_device" && of_function) {
      if (!accept(",")) break;
      continue;
    }
    if (const bool* b = value.as<bool>(); b != nullptr && of_function)
      value = std::int64_t{*b ? 1 : 0};
    if (attrs.find(name) != nullptr) {
      report(
          error(Code::kDuplicateName, location(start), "the attribute `{}` is given twice", name));
    }
    attrs.set(std::move(name), std::move(value));
    if (!accept(",")) break;
  }
}

AttrValue Parser::attr_value() {
  const Nesting nesting(*this);
  if (accept("[")) return attr_list("]");
  if (accept("(")) {
    AttrValue list = attr_list(")");
    // One value in parentheses is that value.
    const auto* items = list.as<AttrArray>();
    return items->size() == 1 ? AttrValue((*items)[0]) : list;
  }
  const bool negative = accept("-");
  const Token t = peek();
  if (t.kind == TokenKind::kNumber || (t.kind == TokenKind::kWord && is_non_finite(text_of(t)))) {
    return attr_number(take(), negative);
  }
  if (!negative && t.kind == TokenKind::kString) return unquote(text_of(take()));
  if (t.kind == TokenKind::kMeta) {
    return meta_attr(take());
  } else if (!negative && (at_word("True") || at_word("False"))) {
    return text_of(take()) == "True";
  } else if (!negative && (at_word("None") || at_word("nullptr"))) {
    take();
  } else {
    fail_expected("the value of an attribute");
  }
  return {};
}

// Only virtual devices; they are texts here, `"cpu:0"`.
AttrValue Parser::meta_attr(const Token& t) {
  const auto ref = parse_meta(text_of(t));
  if (!ref || ref->key != kVirtualDeviceKey) {
    unsupported(t, "an attribute that refers to the metadata section is");
    return {};
  }
  if (ref->index < metadata_.virtual_devices.size()) return metadata_.virtual_devices[ref->index];
  report(error(Code::kBadMetadata, location(t), "`{}` has no entry: there are {} virtual devices",
               text_of(t), metadata_.virtual_devices.size()));
  return {};
}

AttrValue Parser::attr_list(std::string_view close) {
  AttrArray items;
  while (!panicking_ && !at_punct(close)) {
    items.push_back(attr_value());
    if (!accept(",")) break;
  }
  expect(close);
  return items;
}

AttrValue Parser::attr_number(const Token& t, bool negative) {
  auto value = parse_attr_number((negative ? "-" : "") + std::string(text_of(t)));
  if (value) return std::move(*value);
  report(error(Code::kBadLiteral, location(t), "`{}` {}", text_of(t), value.error()));
  return std::int64_t{0};
}

}  // namespace tessera::relay
