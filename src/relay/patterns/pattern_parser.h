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
#pragma once

#include <set>
#include <unordered_map>

#include "relay/patterns/pattern_text.h"
#include "relay/text/parser.h"

namespace tessera::relay {

class PatternParser : private Parser {
 public:
  // `known`: names that are taken.
  PatternParser(std::shared_ptr<const SourceFile> file, const OperatorTable& operators,
                std::span<const PatternTable> known);

  Result<std::vector<PatternTable>> run();

 private:
  using Names = std::unordered_map<std::string, Pattern>;  // never iterated

  // Tables and composites: parse_pattern_table.cc
  void skip_to(std::initializer_list<std::string_view> words);
  void table();
  void entry(PatternTable& table);
  void definition();
  bool at_name() { return peek().kind == TokenKind::kLocal || peek().kind == TokenKind::kGraph; }

  // A pattern and what follows it: parse_pattern.cc
  Pattern checked(Pattern p, const Token& at);
  Pattern pattern();
  Pattern postfix();
  // `...`
  bool accept_open();
  std::vector<Pattern> patterns_until(std::string_view close);
  Pattern call(const Pattern& callee, const Token& start);
  const Operator* operator_of(const Pattern& p) const;
  // The call, or what its first argument matches.
  Pattern optional(const Pattern& p);
  Pattern projection(const Pattern& p);
  Pattern attributes_of(const Pattern& p);
  void check_attributes(const Operator& op, const Attrs& attrs, const Token& at);
  Pattern conditions(Pattern p);
  Pattern dtype_condition(const Pattern& p);
  Shape shape();
  Pattern capture(const Pattern& p);

  // What a pattern begins with: parse_primary_pattern.cc
  Pattern primary();
  Pattern named(const Token& t);
  Pattern global(const Token& t);
  Pattern operator_pattern();
  Pattern parenthesised_pattern();
  // A literal of Relay text, the same to the last bit and of the same data type.
  Pattern expression();
  NodeId primary_value() { return Parser::primary().node; }
  void begin_expression();
  Pattern braced_expression();
  Pattern scalar();
  Pattern variable();
  Pattern function();
  Pattern braced();
  Pattern branch_pattern();
  Pattern three_parts();

  std::span<const PatternTable> known_;
  std::vector<PatternTable> tables_;
  Names names_;
  std::set<std::string> defined_;
};

}  // namespace tessera::relay
