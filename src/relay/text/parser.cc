// SPDX-License-Identifier: Apache-2.0
// Tokens, errors and the top level of a text.
#include "relay/text/parser.h"

#include <fmt/format.h>

#include "relay/text/parse_value.h"
#include "relay/verify.h"
#include "relay/words.h"

namespace tessera::relay {

namespace {

// Where the metadata section begins, which no token can contain: at a line of its own.
std::size_t find_metadata(std::string_view text) {
  constexpr std::string_view kBegin = "#[metadata";
  for (std::size_t at = text.find(kBegin); at != std::string_view::npos;
       at = text.find(kBegin, at + 1)) {
    const std::string_view rest = text.substr(at);
    if ((at == 0 || text[at - 1] == '\n') &&
        (rest.starts_with(kMetadataLine) || rest.starts_with(kMetadataFileLine)))
      return at;
  }
  return text.size();
}

}  // namespace

std::optional<std::string> metadata_file(std::string_view text) {
  std::string_view rest = text.substr(find_metadata(text));
  if (!rest.starts_with(kMetadataFileLine)) return std::nullopt;
  rest.remove_prefix(kMetadataFileLine.size());
  return std::string(rest.substr(0, rest.find("\"]")));
}

Parser::Parser(std::shared_ptr<const SourceFile> file, const OperatorTable& operators,
               const ParseOptions& options)
    : file_(std::move(file)),
      operators_(operators),
      options_(options),
      lexer_(std::string_view(file_->text).substr(0, find_metadata(file_->text))) {
  const auto size = static_cast<std::uint32_t>(lexer_.source().size());
  end_.begin = end_.end = size;
}

const Token& Parser::peek(std::size_t k) { return panicking_ ? end_ : lexer_.peek(k); }

Token Parser::take() {
  if (panicking_) return end_;
  const Token t = lexer_.take();
  last_end_ = t.end;
  return t;
}

bool Parser::at_punct(std::string_view text, std::size_t k) {
  const Token& t = peek(k);
  return t.kind == TokenKind::kPunct && text_of(t) == text;
}

bool Parser::at_word(std::string_view text, std::size_t k) {
  const Token& t = peek(k);
  return t.kind == TokenKind::kWord && text_of(t) == text;
}

bool Parser::accept(std::string_view punct) {
  const bool here = at_punct(punct);
  if (here) take();
  return here;
}

void Parser::expect(std::string_view punct) {
  if (!accept(punct)) fail_expected(fmt::format("`{}`", punct));
}

std::optional<Token> Parser::expect(TokenKind kind, std::string_view what) {
  if (peek().kind == kind) return take();
  fail_expected(what);
  return std::nullopt;
}

Location Parser::location(std::uint32_t begin, std::uint32_t end) const {
  return file_location(file_, begin, end);
}

void Parser::report(Diagnostic d) {
  if (!panicking_ && errors_.list.size() < kMaxErrors) errors_.add(std::move(d));
}

void Parser::fail_syntax(Diagnostic d) {
  report(std::move(d));
  panicking_ = true;
}

void Parser::fail_expected(std::string_view what) {
  const Token t = peek();
  std::string found = "the end of the text";
  if (t.kind == TokenKind::kBad && text_of(t).starts_with('"')) {
    found = "a string that is not closed";
  } else if (t.kind == TokenKind::kBad && text_of(t).starts_with("/*")) {
    found = "a comment that is not closed";
  } else if (t.kind != TokenKind::kEnd) {
    found = fmt::format("`{}`", text_of(t).substr(0, 40));
  }
  fail_syntax(error(Code::kSyntax, location(t), "expected {}, found {}", what, found));
}

void Parser::unsupported(const Token& t, std::string_view what) {
  fail_syntax(error(Code::kUnsupportedSyntax, location(t), "{} not supported", what));
}

void Parser::skip_to_definition() {
  panicking_ = false;
  while (peek().kind != TokenKind::kEnd && !at_word("def")) take();
}

Diagnostics Parser::take_errors() { return std::move(errors_); }

Result<void> Parser::read_metadata_at(std::size_t begin) {
  const std::string_view section = std::string_view(file_->text).substr(begin);
  const auto place = [&](std::size_t length) {
    return location(static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(begin + length));
  };
  if (section.starts_with(kMetadataLine)) {
    const std::size_t json = kMetadataLine.size();
    TESSERA_TRY(metadata_, parse_metadata(section.substr(json), place(json)));
    return {};
  }
  const std::size_t name = kMetadataFileLine.size(), end = section.find("\"]", name);
  if (end == std::string_view::npos ||
      section.substr(0, end).find('\n') != std::string_view::npos) {
    return fail(error(Code::kSyntax, place(name), "the name of the metadata's file is not closed"));
  }
  if (!options_.constants_in) {
    return fail(error(Code::kUnsupportedSyntax, place(end + 2),
                      "a text that is not a file has no files beside it"));
  }
  TESSERA_TRY(metadata_.constants,
              options_.constants_in(std::string(section.substr(name, end - name)), place(end)));
  return {};
}

void Parser::read_metadata() {
  const auto begin = lexer_.source().size();
  if (begin < file_->text.size()) {
    if (auto read = read_metadata_at(begin); !read) errors_.add(std::move(read).error());
  }
  metadata_.constants.insert(metadata_.constants.end(), options_.constants.begin(),
                             options_.constants.end());
}

void Parser::header() {
  if (peek().kind != TokenKind::kPragma || !text_of(peek()).starts_with("#[version")) {
    report(error(Code::kSyntax, location(peek()), "the text does not begin with its version")
               .with_remedy(fmt::format("write `{}` on the first line", kVersionLine)));
  }
  while (peek().kind == TokenKind::kPragma) pragma(take());
}

void Parser::pragma(const Token& t) {
  std::string_view inside = text_of(t);
  inside.remove_prefix(2);
  inside.remove_suffix(1);
  if (inside.starts_with("symbol ")) {
    auto symbol = parse_symbol(inside.substr(7));
    if (!symbol) {
      report(error(Code::kSyntax, location(t), "{}", symbol.error()));
    } else if (!out_.symbols.emplace(symbol->name, *symbol).second) {
      report(error(Code::kDuplicateName, location(t), "the symbol `{}` is declared twice",
                   symbol->name));
    }
  } else if (inside.starts_with("version")) {
    std::string compact;
    for (const char c : text_of(t)) {
      if (c != ' ') compact += c;
    }
    if (compact == "#[version=\"0.0.5\"]") return;
    report(error(Code::kSyntax, location(t), "this version of the text is not known")
               .with_remedy(fmt::format("the text must be of `{}`", kVersionLine)));
  } else {
    report(error(Code::kSyntax, location(t), "unsupported attribute `{}`", inside.substr(0, 40)));
  }
}

void Parser::add_function(std::string name, const Token& t, Function f) {
  const auto [it, fresh] = definitions_.emplace(name, location(t));
  if (!fresh) {
    report(error(Code::kDuplicateName, location(t), "`@{}` is defined twice", name)
               .note(it->second, "the first definition"));
  }
  out_.functions.insert_or_assign(std::move(name), std::move(f));
}

std::string Parser::name_of(const Token& t) const {
  const std::string_view name = text_of(t).substr(1);
  return name.starts_with('"') ? unquote(name) : std::string(name);
}

void Parser::definition() {
  if (peek().kind == TokenKind::kGlobal) return loop_definition(take());
  if (at_word("type") || at_word("extern")) {
    return unsupported(peek(), "algebraic data types are");
  }
  if (!at_word("def")) return fail_expected("`def`");
  take();
  const auto name = expect(TokenKind::kGlobal, "the name of a global, `@main`");
  if (!name) return;
  definition_name_ = name_of(*name);
  Function f = function_after_name(*name);
  if (!panicking_) add_function(definition_name_, *name, std::move(f));
}

// Moves past its closing brace: the `def` within is not one of ours.
void Parser::skip_loop_text() {
  for (int open = 1; open > 0 && peek().kind != TokenKind::kEnd; take()) {
    open += at_punct("{") ? 1 : at_punct("}") ? -1 : 0;
  }
}

void Parser::loop_definition(const Token& name) {
  expect("=");
  if (!at_word("tir") || !at_punct("{", 1) || !options_.loop_text) {
    return fail_expected("a loop function, `tir { ... }`");
  }
  take();
  const LoopText loop{name_of(name), location(name), take().end};
  const auto end = options_.loop_text(loop, metadata_.constants);
  if (!end) {
    errors_.add(end.error());
    return skip_loop_text();
  }
  lexer_.seek(*end);
  expect("}");
}

Result<ParsedText> Parser::text() {
  read_metadata();
  header();
  while (peek().kind != TokenKind::kEnd) {
    const Token before = peek();
    definition();
    if (!panicking_) continue;
    skip_to_definition();
    if (peek().begin == before.begin) take();  // the same place again would be the same error
  }
  for (const auto& [name, f] : out_.functions) {
    if (errors_.empty()) errors_.add(verify(f));
  }
  if (!errors_.empty()) return fail(take_errors());
  return std::move(out_);
}

Result<Function> Parser::single_function() {
  read_metadata();
  while (peek().kind == TokenKind::kPragma) pragma(take());
  if (at_word("fn")) {
    take();
  } else {
    fail_expected("`fn`");
  }
  const Token first = peek();  // a copy: the lexer drops what it has given
  Function f = function_after_name(first);
  if (peek().kind != TokenKind::kEnd) fail_expected("the end of the text");
  if (errors_.empty()) errors_.add(verify(f));
  if (!errors_.empty()) return fail(take_errors());
  return f;
}

Result<Type> Parser::single_type() {
  Type t = type();
  if (peek().kind != TokenKind::kEnd) fail_expected("the end of the text");
  if (!errors_.empty()) return fail(take_errors());
  return t;
}

Result<ParsedText> parse_text(std::shared_ptr<const SourceFile> file,
                              const OperatorTable& operators, const ParseOptions& options) {
  if (file->text.size() >= 0xffffffffu) {
    return fail(error(Code::kSyntax, file_location(file, 0, 0), "the text is larger than 4 GB")
                    .with_remedy("keep the constants in a file of their own"));
  }
  return Parser(std::move(file), operators, options).text();
}

Result<Function> parse_function(std::shared_ptr<const SourceFile> file,
                                const OperatorTable& operators, const ParseOptions& options) {
  return Parser(std::move(file), operators, options).single_function();
}

namespace {

struct NoOperators : OperatorTable {
  const Operator* find(std::string_view) const override { return nullptr; }
  std::span<const Operator* const> all() const override { return {}; }
};

}  // namespace

Result<Type> parse_type(std::shared_ptr<const SourceFile> file) {
  const ParseOptions options;
  return Parser(std::move(file), NoOperators(), options).single_type();
}

}  // namespace tessera::relay
