// SPDX-License-Identifier: Apache-2.0
// Pattern tables: the composites of one back end, and the names they are made with.
#include <algorithm>

#include "relay/patterns/pattern_parser.h"
#include "relay/text/parse_value.h"

namespace tessera::relay {

namespace {

const ParseOptions kNoOptions;

}  // namespace

PatternParser::PatternParser(std::shared_ptr<const SourceFile> file, const OperatorTable& operators,
                             std::span<const PatternTable> known)
    : Parser(std::move(file), operators, kNoOptions), known_(known) {}

Result<std::vector<PatternTable>> PatternParser::run() {
  while (peek().kind != TokenKind::kEnd) {
    table();
    if (!panicking_) continue;
    skip_to({"table"});
  }
  if (errors_.empty()) return std::move(tables_);
  for (Diagnostic& d : errors_.list) {
    if (d.remedy.empty()) d.remedy = "docs/patterns.md has the grammar, with examples";
  }
  return fail(take_errors());
}

void PatternParser::skip_to(std::initializer_list<std::string_view> words) {
  panicking_ = false;
  const auto here = [&](std::string_view word) { return at_word(word); };
  while (peek().kind != TokenKind::kEnd && std::none_of(words.begin(), words.end(), here)) take();
}

void PatternParser::table() {
  if (!at_word("table")) return fail_expected("`table NAME {`");
  take();
  PatternTable table;
  const Token name = peek();
  if (name.kind == TokenKind::kString) {
    table.name = unquote(text_of(take()));
  } else if (name.kind == TokenKind::kWord) {
    table.name = dotted_name();
  } else {
    return fail_expected("the name of the table");
  }
  const auto taken = [&](const PatternTable& t) { return t.name == table.name; };
  if (std::any_of(known_.begin(), known_.end(), taken)) {
    report(error(Code::kDuplicateName, location(name), "there is a table `{}` already", table.name)
               .with_remedy("give the table another name"));
  } else if (std::any_of(tables_.begin(), tables_.end(), taken)) {
    report(
        error(Code::kDuplicateName, location(name), "the table `{}` is defined twice", table.name)
            .with_remedy("put the composites of both into one table"));
  }
  expect("{");
  names_.clear();
  defined_.clear();
  while (!panicking_ && !at_punct("}")) {
    entry(table);
    if (panicking_) skip_to({"composite", "table"});
    if (at_word("table") || peek().kind == TokenKind::kEnd) break;
  }
  expect("}");
  tables_.push_back(std::move(table));
}

void PatternParser::entry(PatternTable& table) {
  if (at_name()) return definition();
  if (!at_word("composite")) return fail_expected("`composite \"NAME\"`, `%name =` or `}`");
  take();
  const auto name = expect(TokenKind::kString, "the name of the composite, in quotes");
  if (!name) return;
  CompositePattern composite;
  composite.name = unquote(text_of(*name));
  const Names outer = names_;
  if (accept("=")) {
    composite.pattern = pattern();
    expect(";");
  } else {
    if (!at_punct("{")) return fail_expected("`= PATTERN;` or `{ ... PATTERN }`");
    take();
    while (!panicking_ && at_name() && at_punct("=", 1)) definition();
    composite.pattern = pattern();
    expect("}");
  }
  names_ = outer;
  table.composites.push_back(std::move(composite));
}

void PatternParser::definition() {
  const Token name = take();
  expect("=");
  Pattern value = pattern();
  expect(";");
  if (!names_.emplace(std::string(text_of(name)), std::move(value)).second) {
    report(error(Code::kDuplicateName, location(name), "`{}` is defined twice", text_of(name))
               .with_remedy("a name stands for one pattern; choose another name"));
  }
  defined_.insert(std::string(text_of(name)));
}

Result<std::vector<PatternTable>> parse_patterns(std::shared_ptr<const SourceFile> file,
                                                 const OperatorTable& operators) {
  return PatternParser(std::move(file), operators, {}).run();
}

Result<void> add_patterns(std::vector<PatternTable>& tables, std::shared_ptr<const SourceFile> file,
                          const OperatorTable& operators) {
  TESSERA_TRY(auto read, PatternParser(std::move(file), operators, tables).run());
  for (PatternTable& table : read) tables.push_back(std::move(table));
  return {};
}

}  // namespace tessera::relay
