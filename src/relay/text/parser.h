// SPDX-License-Identifier: Apache-2.0
// The recursive-descent parser behind relay/parse.h. Chains of bindings and operators are loops;
// only what the text nests recurses, up to kMaxNesting.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "relay/text/lexer.h"
#include "relay/text/metadata.h"
#include "relay/text/parse.h"

namespace tessera::relay {

// After a syntax error the parser sees the end of the text until recover(), so that all loops end;
// what it makes meanwhile are placeholders that nobody gets to see.
class Parser {
 public:
  Parser(std::shared_ptr<const SourceFile> file, const OperatorTable& operators,
         const ParseOptions& options);

  Result<ParsedText> text();
  Result<Function> single_function();
  Result<Type> single_type();

 protected:  // the reader of patterns is a parser too (relay/pattern_parser.h)
  static constexpr int kMaxNesting = 400;
  static constexpr std::size_t kMaxErrors = 100;

  struct Value {
    NodeId node;
    std::uint32_t begin = 0, end = 0;  // of its text
  };
  struct Arguments {
    std::vector<NodeId> nodes;
    Attrs attrs;
    std::uint32_t attrs_begin = 0;
  };
  // What a local name stands for. A `let` function is known in its own body by the name of the
  // global that it becomes, which is made up at the first such use.
  struct Binding {
    NodeId node;
    bool is_function = false;
    std::string recursive_name = {};
  };
  struct GraphBinding {
    NodeId node;
    int definition = 0;  // the number of the definition that it belongs to
    Token at;
  };
  class Scope;
  class Nesting;

  // parser.cc: tokens, errors, the top level
  const Token& peek(std::size_t k = 0);
  Token take();
  std::string_view text_of(const Token& t) const { return lexer_.text(t); }
  // Without `%` or `@`, and without quotation marks.
  std::string name_of(const Token& t) const;
  bool at_punct(std::string_view text, std::size_t k = 0);
  bool at_word(std::string_view text, std::size_t k = 0);
  bool accept(std::string_view punct);
  void expect(std::string_view punct);
  std::optional<Token> expect(TokenKind kind, std::string_view what);
  Location location(std::uint32_t begin, std::uint32_t end) const;
  Location location(const Token& t) const { return location(t.begin, t.end); }
  void report(Diagnostic d);
  void fail_expected(std::string_view what);  // a syntax error at the next token
  void fail_syntax(Diagnostic d);
  void unsupported(const Token& at, std::string_view what);
  void skip_to_definition();
  void read_metadata();
  Result<void> read_metadata_at(std::size_t begin);
  void header();
  void pragma(const Token& t);
  void definition();
  void loop_definition(const Token& name);
  void skip_loop_text();
  void add_function(std::string name, const Token& at, Function f);
  Diagnostics take_errors();

  // parse_function.cc
  Function function_after_name(const Token& start);
  struct Signature {
    Attrs attrs;
    Type result;
  };
  Signature signature();
  void parameter();
  NodeId literal();
  NodeId sequence();  // expr of the grammar, in a scope of its own
  bool sequence_item(NodeId& result);
  void let_binding();
  void graph_binding();
  NodeId lift_recursive(const Binding& binding, NodeId literal, const Token& at);
  NodeId closure(NodeId literal, const std::string& global, const std::vector<NodeId>& captured);
  void bind(std::string_view name, Binding binding);

  // parse_expr.cc
  Value infix(int min_level = 0);
  Value call();
  Value primary();
  Value projections(Value value);
  Value parenthesised();
  Value branch();
  Value operator_call();
  Value number(const Token& t, bool negative);
  Value local();
  Value graph_reference();
  Value meta();
  Arguments arguments();
  NodeId make_op_call(std::string_view name, Arguments args, const Token& at);
  bool has_right_arity(const Operator& op, std::size_t num_args, const Token& at);
  NodeId placeholder();
  NodeId constant(Tensor tensor);
  bool is_visible(NodeId id) const;
  bool is_mentioned(const std::string& global) const;
  void at(std::uint32_t begin, std::uint32_t end) { builder_->at(location(begin, end)); }

  // parse_type.cc
  Type type();
  Type tensor();
  Type scalar_type();
  Dim dim();
  Dim symbolic_dim(const Token& mark);
  std::vector<Type> type_list();

  // parse_attrs.cc
  bool at_attribute();
  std::string dotted_name();
  void attributes(Attrs& attrs, bool of_function);
  AttrValue attr_value();
  AttrValue meta_attr(const Token& t);
  AttrValue attr_list(std::string_view close);
  AttrValue attr_number(const Token& t, bool negative);

  std::shared_ptr<const SourceFile> file_;
  const OperatorTable& operators_;
  const ParseOptions& options_;
  Lexer lexer_;
  Token end_;  // what peek() gives after a syntax error
  bool panicking_ = false;
  Diagnostics errors_;
  Metadata metadata_;
  ParsedText out_;
  std::unordered_map<std::string, Location> definitions_;  // never iterated
  std::uint32_t last_end_ = 0;                             // end of the last token taken

  // of the definition that is being parsed
  std::optional<FunctionBuilder> builder_;
  std::vector<RegionId> regions_;
  std::unordered_map<std::string, std::vector<Binding>> locals_;  // never iterated
  std::vector<std::string> bound_;  // in order; scopes are marks in it
  std::string definition_name_;
  int definition_ = 0;
  int nesting_ = 0;
  std::unordered_set<std::string> lifted_;  // names of globals made of recursive functions
  std::unordered_map<std::int64_t, GraphBinding> graph_;  // never iterated
};

// Forgets the locals bound in it at its end.
class Parser::Scope {
 public:
  explicit Scope(Parser& p) : p_(p), mark_(p.bound_.size()) {}
  ~Scope() {
    for (; p_.bound_.size() > mark_; p_.bound_.pop_back()) p_.locals_[p_.bound_.back()].pop_back();
  }
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

 private:
  Parser& p_;
  std::size_t mark_;
};

// Counts how deep the text nests; too deep is a syntax error.
class Parser::Nesting {
 public:
  explicit Nesting(Parser& p) : p_(p) {
    if (++p.nesting_ > kMaxNesting) {
      p.fail_syntax(error(Code::kSyntax, p.location(p.peek()), "the text nests more than {} deep",
                          kMaxNesting));
    }
  }
  ~Nesting() { --p_.nesting_; }
  Nesting(const Nesting&) = delete;
  Nesting& operator=(const Nesting&) = delete;

 private:
  Parser& p_;
};

}  // namespace tessera::relay
