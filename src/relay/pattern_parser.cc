// SPDX-License-Identifier: Apache-2.0
// Reads the text of patterns. The grammar:
//
//   file      = { table }
//   table     = 'table' (WORD {'.' WORD} | STRING) '{' { NAME '=' pattern ';' | composite } '}'
//   composite = 'composite' STRING ( '=' pattern ';' | '{' { NAME '=' pattern ';' } pattern '}' )
//   pattern   = postfix { '|' postfix }
//   postfix   = primary { '(' '...' ')' | '(' [ pattern {',' pattern} ] ')' | '?' | '.' INTEGER
//             | '.' '*' | '{' attrs '}' | '[' condition {',' condition} ']' | 'as' WORD }
//   condition = 'dtype' '=' WORD | 'shape' '=' '(' dims ')' | 'type' '=' type
//   primary   = '*' | NAME | operator | GLOBAL | NUMBER | 'True' | 'False' | 'constant'
//             | 'scalar' '(' NUMBER ')' | 'var' [ '(' STRING ')' ] | 'expr' '{' expression '}'
//             | 'fn' '(' ( '...' | patterns ) ')' '{' pattern '}'
//             | 'if' '(' pattern ')' '{' pattern '}' 'else' '{' pattern '}'
//             | 'let' '(' pattern ',' pattern ',' pattern ')'
//             | 'dominates' '(' pattern ',' pattern ',' pattern ')'
//             | '(' '...' ')' | '(' pattern ')' | '(' [ pattern ',' {pattern ','} ] ')'
//
// NAME is `%word` or `%number`; operator, attrs, type, dims and expression are those of Relay text.
#include <algorithm>
#include <charconv>
#include <set>
#include <unordered_map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "relay/parse_value.h"
#include "relay/parser.h"
#include "relay/pattern_node.h"
#include "relay/pattern_text.h"
#include "relay/rewrite.h"

namespace tessera::relay {

namespace {

const ParseOptions kNoOptions;
constexpr int kMaxDepth = 1000;

}  // namespace

class PatternParser : private Parser {
 public:
  // `known`: names that are taken.
  PatternParser(std::shared_ptr<const SourceFile> file, const OperatorTable& operators,
                std::span<const PatternTable> known)
      : Parser(std::move(file), operators, kNoOptions), known_(known) {}

  Result<std::vector<PatternTable>> run() {
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

 private:
  using Names = std::unordered_map<std::string, Pattern>;  // never iterated

  void skip_to(std::initializer_list<std::string_view> words) {
    panicking_ = false;
    const auto here = [&](std::string_view word) { return at_word(word); };
    while (peek().kind != TokenKind::kEnd && std::none_of(words.begin(), words.end(), here)) take();
  }

  void table() {
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
      report(
          error(Code::kDuplicateName, location(name), "there is a table `{}` already", table.name)
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

  void entry(PatternTable& table) {
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

  bool at_name() { return peek().kind == TokenKind::kLocal || peek().kind == TokenKind::kGraph; }

  void definition() {
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

  Pattern checked(Pattern p, const Token& at) {
    if (p.get()->depth > kMaxDepth) {
      fail_syntax(
          error(Code::kSyntax, location(at), "the pattern is more than {} levels deep", kMaxDepth)
              .with_remedy("split it into several composites"));
      return wildcard();
    }
    return p;
  }

  Pattern pattern() {
    const Nesting nesting(*this);
    const Token start = peek();
    Pattern left = postfix();
    while (!panicking_ && accept("|")) left = checked(left | postfix(), start);
    return left;
  }

  Pattern postfix() {
    const Token start = peek();
    Pattern p = primary();
    while (!panicking_) {
      if (at_punct("(")) {
        p = call(p, start);
      } else if (at_punct("?")) {
        p = optional(p);
      } else if (at_punct(".")) {
        p = projection(p);
      } else if (at_punct("{")) {
        p = attributes_of(p);
      } else if (at_punct("[")) {
        p = conditions(p);
      } else if (at_word("as")) {
        p = capture(p);
      } else {
        break;
      }
      p = checked(p, start);
    }
    return p;
  }

  // `...`
  bool accept_open() {
    if (!at_punct(".") || !at_punct(".", 1) || !at_punct(".", 2)) return false;
    for (int i = 0; i < 3; ++i) take();
    return true;
  }

  std::vector<Pattern> patterns_until(std::string_view close) {
    std::vector<Pattern> list;
    while (!panicking_ && !at_punct(close)) {
      list.push_back(pattern());
      if (!accept(",")) break;
    }
    expect(close);
    return list;
  }

  Pattern call(const Pattern& callee, const Token& start) {
    take();
    if (accept_open()) {
      expect(")");
      return callee.call_any();
    }
    std::vector<Pattern> args = patterns_until(")");
    if (const Operator* op = operator_of(callee); op != nullptr && !panicking_) {
      has_right_arity(*op, args.size(), start);
    }
    return callee.call(std::move(args));
  }

  const Operator* operator_of(const Pattern& p) const {
    return p.get()->kind == PatternKind::kOperator ? operators_.find(p.get()->name) : nullptr;
  }

  // The call, or what its first argument matches.
  Pattern optional(const Pattern& p) {
    const Token mark = take();
    const PatternNode& node = *p.get();
    if (node.kind != PatternKind::kCall || node.children.size() < 2) {
      report(error(Code::kSyntax, location(mark),
                   "`?` stands behind a call with arguments: it makes the call optional")
                 .with_remedy("write `nn.relu(%x)?`, or both alternatives with `|`"));
      return p;
    }
    return p | node.children[1];
  }

  Pattern projection(const Pattern& p) {
    take();
    if (accept("*")) return is_project(p);
    const Token t = peek();
    const auto index = t.kind == TokenKind::kNumber ? parse_size(text_of(t)) : std::nullopt;
    if (!index || *index > 1'000'000) {
      fail_expected("the index of a projection, or `*`");
      return p;
    }
    take();
    return is_project(p, static_cast<int>(*index));
  }

  Pattern attributes_of(const Pattern& p) {
    take();
    Attrs attrs;
    const Token first = peek();
    attributes(attrs, p.get()->kind == PatternKind::kFunction);
    expect("}");
    const PatternNode& node = *p.get();
    if (node.kind == PatternKind::kCall && !panicking_) {
      if (const Operator* op = operator_of(node.children[0])) check_attributes(*op, attrs, first);
    }
    return p.has_attrs(std::move(attrs));
  }

  void check_attributes(const Operator& op, const Attrs& attrs, const Token& at) {
    std::vector<std::string_view> known;
    for (const AttrField& field : op.attrs().fields) known.push_back(field.name);
    for (const auto& [name, value] : attrs) {
      if (op.attrs().find(name) != nullptr) continue;
      report(error(Code::kWrongAttribute, location(at), "`{}` has no attribute `{}`", op.name, name)
                 .with_remedy(known.empty() ? "it has none"
                                            : fmt::format("it has: {}", fmt::join(known, ", "))));
    }
  }

  Pattern conditions(Pattern p) {
    take();
    do {
      const Token key = peek();
      const std::string word(key.kind == TokenKind::kWord ? text_of(key) : "");
      if (word != "dtype" && word != "shape" && word != "type") {
        fail_expected("`dtype =`, `shape =` or `type =`");
        return p;
      }
      take();
      expect("=");
      if (word == "dtype") p = dtype_condition(p);
      if (word == "type") p = p.has_type(type());
      if (word == "shape") p = p.has_shape(shape());
    } while (!panicking_ && accept(","));
    expect("]");
    return p;
  }

  Pattern dtype_condition(const Pattern& p) {
    const Token t = peek();
    const auto dtype = t.kind == TokenKind::kWord ? parse_dtype(text_of(t)) : std::nullopt;
    if (!dtype) {
      fail_expected("a data type, as `float16`");
      return p;
    }
    take();
    return p.has_dtype(*dtype);
  }

  Shape shape() {
    Shape out;
    expect("(");
    while (!panicking_ && !at_punct(")")) {
      out.push_back(dim());
      if (!accept(",")) break;
    }
    expect(")");
    return out;
  }

  Pattern capture(const Pattern& p) {
    take();
    const auto name = expect(TokenKind::kWord, "the name of what matched");
    if (!name) return p;
    PatternNode node = *p.get();
    node.capture = std::string(text_of(*name));
    return Pattern(std::make_shared<PatternNode>(std::move(node)));
  }

  Pattern primary() {
    const Token t = peek();
    if (at_name()) return named(take());
    if (accept("*")) return wildcard();
    if (accept("(")) return parenthesised_pattern();
    if (t.kind == TokenKind::kGlobal) return global(take());
    if (t.kind == TokenKind::kNumber || at_word("True") || at_word("False")) return expression();
    if (t.kind == TokenKind::kWord && is_non_finite(text_of(t))) return expression();
    if (t.kind != TokenKind::kWord) {
      fail_expected("a pattern");
      return wildcard();
    }
    if (at_word("constant")) return take(), is_constant();
    if (at_word("scalar") && at_punct("(", 1)) return scalar();
    if (at_word("var")) return variable();
    if (at_word("expr") && at_punct("{", 1)) return braced_expression();
    if (at_word("fn")) return function();
    if (at_word("if")) return branch_pattern();
    if (at_word("let") || at_word("dominates")) return three_parts();
    return operator_pattern();
  }

  Pattern named(const Token& t) {
    const auto found = names_.find(std::string(text_of(t)));
    if (found != names_.end()) return found->second;
    report(error(Code::kUnknownName, location(t), "`{}` is not defined", text_of(t))
               .with_remedy(defined_.empty() ? "define it before its use: `%x = nn.dense(*, *);`"
                                             : fmt::format("define it before its use; there are {}",
                                                           fmt::join(defined_, ", "))));
    return wildcard();
  }

  Pattern global(const Token& t) {
    std::string name(text_of(t).substr(1));
    if (name.starts_with('"')) name = unquote(name);
    return is_global(std::move(name));
  }

  Pattern operator_pattern() {
    const Token t = peek();
    const std::string name = dotted_name();
    if (operators_.find(name) == nullptr) {
      report(error(Code::kUnknownOperator, location(t.begin, last_end_),
                   "there is no operator `{}`", name)
                 .with_remedy("`tessera inspect --operators` lists them; other patterns are `*`, "
                              "`constant`, `var` and names as `%x`"));
    }
    return is_operator(name);
  }

  Pattern parenthesised_pattern() {
    if (accept_open()) {
      expect(")");
      return is_any_tuple();
    }
    std::vector<Pattern> fields;
    bool tuple = at_punct(")");
    while (!panicking_ && !at_punct(")")) {
      fields.push_back(pattern());
      if (!accept(",")) break;
      tuple = true;
    }
    expect(")");
    return tuple || fields.empty() ? is_tuple(std::move(fields)) : fields[0];
  }

  // A literal of Relay text, the same to the last bit and of the same data type.
  Pattern expression() {
    begin_expression();
    const NodeId value = primary_value();
    return is_expr(builder_->finish(value));
  }
  NodeId primary_value() { return Parser::primary().node; }

  void begin_expression() {
    builder_.emplace();
    regions_.assign(1, Function::kBody);
    locals_.clear();
    bound_.clear();
    ++definition_;
  }

  Pattern braced_expression() {
    const Token word = take();
    take();
    begin_expression();
    const NodeId value = sequence();
    expect("}");
    Function f = without_dead_nodes(builder_->finish(value));
    for (std::size_t i = 0; i < f.num_nodes() && !panicking_; ++i) {
      const NodeKind kind = f[NodeId(i)].kind();
      if (kind != NodeKind::kIf && kind != NodeKind::kLiteral && kind != NodeKind::kLet) continue;
      report(error(Code::kSyntax, location(word),
                   "an `expr` is made of calls, constants, tuples, projections and globals")
                 .with_remedy("write the pattern with `fn`, `if` or `let` outside of `expr`"));
      break;
    }
    return is_expr(std::move(f));
  }

  Pattern scalar() {
    take();
    take();
    const std::string_view text = peek().kind == TokenKind::kNumber ? text_of(peek()) : "";
    double value = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
    if (text.empty() || read.ec != std::errc() || read.ptr != text.data() + text.size()) {
      fail_expected("a number, as `0.5` or `-3`");
      return wildcard();
    }
    take();
    expect(")");
    return is_scalar(value);
  }

  Pattern variable() {
    take();
    if (!accept("(")) return is_var();
    const auto name = expect(TokenKind::kString, "the name of the variable, in quotes");
    expect(")");
    return is_var(name ? unquote(text_of(*name)) : "");
  }

  Pattern function() {
    take();
    expect("(");
    std::optional<std::vector<Pattern>> params;
    if (accept_open()) {
      expect(")");
    } else {
      params = patterns_until(")");
    }
    expect("{");
    Pattern body = pattern();
    expect("}");
    return is_function(std::move(params), std::move(body));
  }

  Pattern braced() {
    expect("{");
    Pattern p = pattern();
    expect("}");
    return p;
  }

  Pattern branch_pattern() {
    take();
    expect("(");
    Pattern condition = pattern();
    expect(")");
    Pattern then_value = braced();
    if (at_word("else")) {
      take();
    } else {
      fail_expected("`else`");
    }
    return is_if(std::move(condition), std::move(then_value), braced());
  }

  Pattern three_parts() {
    const Token word = take();
    expect("(");
    std::vector<Pattern> parts = patterns_until(")");
    if (parts.size() != 3) {
      report(error(Code::kSyntax, location(word), "`{}` has three parts, not {}", text_of(word),
                   parts.size())
                 .with_remedy(text_of(word) == "let" ? "write `let(variable, value, body)`"
                                                     : "write `dominates(parent, path, child)`"));
      return wildcard();
    }
    if (text_of(word) == "let") return is_let(parts[0], parts[1], parts[2]);
    return dominates(parts[0], parts[1], parts[2]);
  }

  std::span<const PatternTable> known_;
  std::vector<PatternTable> tables_;
  Names names_;
  std::set<std::string> defined_;
};

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
