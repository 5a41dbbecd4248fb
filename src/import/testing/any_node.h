// SPDX-License-Identifier: Apache-2.0
// Models of one node that nobody means well with: any number of inputs, with holes, of any rank,
// size and type, constant, computed or given in the run, and attributes of any value.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "import/testing/model.h"
#include "import/testing/operator_words.h"

namespace tessera::import {

class AnyNode {
 public:
  AnyNode(const ImporterWords& words, std::uint64_t seed) : words_(words), random_(seed) {}

  // What `import` answers to the model in the end, after it was changed as long as that helps.
  template <class Import>
  static Result<Module> answer(TestModel& m, const Import& import) {
    constexpr int kMostChanges = 50;
    for (int k = 0;; ++k) {
      Result<Module> result = import();
      const bool can_change = !result && !result.error().list.empty() && k < kMostChanges;
      if (!can_change || !mend(m, result.error())) return result;
    }
  }

  // A model of the operator, in place of what there was.
  void write(TestModel& m, const std::string& name, int opset) {
    const std::size_t dot = name.rfind('.');
    const std::string domain = dot == std::string::npos ? "" : name.substr(0, dot);
    m.proto.clear_graph();
    m.proto.clear_opset_import();
    m.proto.add_opset_import()->set_version(opset);
    if (!domain.empty()) {
      auto* import = m.proto.add_opset_import();
      import->set_domain(domain);
      import->set_version(1);
    }
    rank_ = below(6);
    sizes_.clear();
    for (std::uint64_t d = 0; d < rank_; ++d) sizes_.push_back(size());
    type_ = of(kTypes);
    std::vector<std::string> outputs;
    const std::vector<std::string> inputs = add_inputs(m);
    for (std::uint64_t i = is_one_in(2) ? 1 : 1 + below(4); i > 0; --i)
      outputs.push_back("y" + std::to_string(i));
    onnx::NodeProto* node =
        m.node(dot == std::string::npos ? name : name.substr(dot + 1), inputs, outputs, "node");
    node->set_domain(domain);
    add_attributes(node, words_.operators.at(name), 2);
    if (is_one_in(3)) add_attributes(node, words_.shared, 8);
    for (const std::string& y : outputs) {
      if (is_one_in(3)) {
        m.output(y, shape());
      } else {
        m.output(y);
      }
    }
  }

 private:
  // Changes what the operator was refused for, where that is an attribute or operand that it does
  // not know, or one that it lacks; false if it was refused for something else.
  static bool mend(TestModel& m, const Diagnostics& errors) {
    auto& nodes = *m.proto.mutable_graph()->mutable_node();
    onnx::NodeProto& node = *nodes.rbegin();
    const std::string& text = errors.list.front().message;
    return mend_attributes(node, text) || mend_inputs(node, text) || mend_outputs(m, node, text);
  }

  static bool says(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  }
  // What stands in backquotes after `before`; "" where it is not said.
  static std::string quoted_after(const std::string& text, const std::string& before) {
    const std::size_t at = text.find(before + "`");
    if (at == std::string::npos) return "";
    const std::size_t begin = at + before.size() + 1;
    return text.substr(begin, text.find('`', begin) - begin);
  }

  static bool mend_attributes(onnx::NodeProto& node, const std::string& text) {
    const std::string name = quoted_after(text, "attribute ");
    if (name.empty()) return false;
    if (says(text, "is missing")) {
      set_int(&node, name, 2);
      return true;
    }
    auto& all = *node.mutable_attribute();
    const auto at =
        std::find_if(all.begin(), all.end(), [&](const auto& a) { return a.name() == name; });
    if (at == all.end()) return false;
    if (says(text, "is not supported")) {
      all.erase(at);
      return true;
    }
    const std::size_t type = text.find("must be ");
    AttributeType wanted = at->type();
    if (type == std::string::npos) return false;
    const std::string word = text.substr(type + 8, text.find(';') - type - 8);
    if (!onnx::AttributeProto::AttributeType_Parse(word, &wanted) || wanted == at->type()) {
      return false;
    }
    at->set_type(wanted);
    if (wanted == onnx::AttributeProto::INTS) at->add_ints(1);
    return true;
  }

  static bool mend_inputs(onnx::NodeProto& node, const std::string& text) {
    if (says(text, "are given") && node.input_size() > 1) {
      node.mutable_input()->RemoveLast();
      return true;
    }
    for (int i = 0; i < kMostInputs; ++i) {
      const std::string input = "its input " + std::to_string(i) + " is not ";
      if (says(text, input + "supported") && i < node.input_size() && !node.input(i).empty()) {
        node.mutable_input(i)->clear();
        return true;
      }
      if (!says(text, input + "given") || node.input(0).empty()) continue;
      while (node.input_size() <= i) node.add_input();
      node.set_input(i, node.input(0));
      return true;
    }
    return false;
  }

  // The last one goes.
  static bool mend_outputs(TestModel& m, onnx::NodeProto& node, const std::string& text) {
    if (!says(text, "the use of its output") || node.output_size() < 2) return false;
    node.mutable_output()->RemoveLast();
    m.proto.mutable_graph()->mutable_output()->RemoveLast();
    return true;
  }

  static constexpr std::int64_t kSizes[] = {1, 1, 2, 2, 2, 3, 4, 4, 6, 8, 16, 32, 0, 5, 7};
  static constexpr std::int64_t kSmall[] = {0, 1, 1, 1, 2, 2, 3, 4, 8, 16, 32, -1, -2};
  static constexpr std::int64_t kHostile[] = {7,
                                              -7,
                                              65,
                                              1 << 16,
                                              INT32_MAX,
                                              INT32_MIN,
                                              std::int64_t{INT32_MAX} + 1,
                                              std::int64_t{1} << 40,
                                              std::int64_t{1} << 62,
                                              INT64_MAX,
                                              INT64_MIN};
  static constexpr int kTypes[] = {
      onnx::TensorProto::FLOAT, onnx::TensorProto::FLOAT,   onnx::TensorProto::FLOAT,
      onnx::TensorProto::FLOAT, onnx::TensorProto::INT64,   onnx::TensorProto::INT64,
      onnx::TensorProto::INT32, onnx::TensorProto::UINT8,   onnx::TensorProto::INT8,
      onnx::TensorProto::BOOL,  onnx::TensorProto::FLOAT16, onnx::TensorProto::DOUBLE};
  static constexpr int kRareTypes[] = {onnx::TensorProto::STRING,      onnx::TensorProto::INT4,
                                       onnx::TensorProto::BFLOAT16,    onnx::TensorProto::UINT64,
                                       onnx::TensorProto::COMPLEX64,   onnx::TensorProto::INT16,
                                       onnx::TensorProto::FLOAT8E4M3FN};
  static constexpr AttributeType kKinds[] = {
      onnx::AttributeProto::INT,    onnx::AttributeProto::FLOAT,  onnx::AttributeProto::STRING,
      onnx::AttributeProto::INTS,   onnx::AttributeProto::FLOATS, onnx::AttributeProto::STRINGS,
      onnx::AttributeProto::TENSOR, onnx::AttributeProto::GRAPH};
  // No operator has more inputs, but those that take any number.
  static constexpr int kMostInputs = 20;

  std::uint64_t below(std::uint64_t n) { return random_() % n; }
  bool is_one_in(std::uint64_t n) { return below(n) == 0; }
  template <class T, std::size_t N>
  T of(const T (&list)[N]) {
    return list[below(N)];
  }
  std::int64_t size() { return of(kSizes); }
  std::int64_t number() { return is_one_in(5) ? of(kHostile) : of(kSmall); }

  // That of all operands, or another one.
  std::vector<std::int64_t> shape() {
    const std::uint64_t way = below(8);
    if (way < 5) return sizes_;
    std::vector<std::int64_t> other(way < 7 ? rank_ : below(6));
    for (std::int64_t& n : other) n = size();
    return other;
  }
  int type() {
    if (is_one_in(30)) return of(kRareTypes);
    return is_one_in(5) ? of(kTypes) : type_;
  }

  std::vector<std::string> add_inputs(TestModel& m) {
    std::vector<std::string> names;
    const std::uint64_t count = 1 + below(is_one_in(4) ? kMostInputs : 5);
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::string name = "x" + std::to_string(i);
      const bool is_hole = i > 0 && is_one_in(7);
      names.push_back(is_hole ? "" : add_input(m, name));
    }
    return names;
  }

  // The name of an input, of a constant, or of what is computed of one.
  std::string add_input(TestModel& m, const std::string& name) {
    if (is_one_in(4)) {
      add_constant(m, name);
      return name;
    }
    const std::vector<std::int64_t> sizes = shape();
    m.input(name, sizes, type());
    auto* tensor = m.proto.mutable_graph()
                       ->mutable_input(m.proto.graph().input_size() - 1)
                       ->mutable_type()
                       ->mutable_tensor_type();
    if (is_one_in(50)) tensor->clear_shape();
    for (auto& dim : *tensor->mutable_shape()->mutable_dim()) {
      if (is_one_in(6)) dim.set_dim_param(is_one_in(2) ? "n" : "m");
      if (is_one_in(20)) dim.clear_value();
    }
    const std::uint64_t way = below(24);
    if (way > 3) return name;
    // Sizes as values, sizes without a name, a sequence.
    constexpr const char* kMakers[] = {"Shape", "NonZero", "ConstantOfShape", "SequenceConstruct"};
    m.node(kMakers[way], {name}, {name + "_made"});
    return name + "_made";
  }

  void add_constant(TestModel& m, const std::string& name) {
    auto* t = m.proto.mutable_graph()->add_initializer();
    t->set_name(name);
    std::vector<std::int64_t> sizes = shape();
    if (is_one_in(3)) sizes = {1 + static_cast<std::int64_t>(below(6))};
    if (is_one_in(12)) sizes.clear();
    fill(*t, sizes, is_one_in(2) ? onnx::TensorProto::INT64 : type());
  }

  void fill(onnx::TensorProto& t, const std::vector<std::int64_t>& sizes, int type) {
    constexpr std::int64_t kMost = 4096;
    t.set_data_type(type);
    std::int64_t count = 1;
    for (const std::int64_t n : sizes) {
      if (count * n > kMost) break;
      count *= n;
      t.add_dims(n);
    }
    const std::int64_t all = number();
    const bool is_equal = is_one_in(2);
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t value = is_equal ? all : number();
      switch (type) {
        case onnx::TensorProto::FLOAT:
          t.add_float_data(static_cast<float>(value));
          break;
        case onnx::TensorProto::DOUBLE:
          t.add_double_data(static_cast<double>(value));
          break;
        case onnx::TensorProto::INT64:
          t.add_int64_data(value);
          break;
        case onnx::TensorProto::UINT64:
          t.add_uint64_data(static_cast<std::uint64_t>(value));
          break;
        case onnx::TensorProto::STRING:
          t.add_string_data("s");
          break;
        default:
          t.add_int32_data(static_cast<std::int32_t>(value & 0x7f));
      }
    }
  }

  // One of so many attributes.
  void add_attributes(onnx::NodeProto* node, const OperatorWords& words, std::uint64_t of_many) {
    for (const auto& [name, type] : words.attributes) {
      if (!is_one_in(of_many)) continue;
      set(*add_attribute(node, name, is_one_in(20) ? of(kKinds) : type), words);
      if (is_one_in(60)) node->mutable_attribute()->rbegin()->set_type(of(kKinds));
    }
  }

  std::string word(const OperatorWords& words) {
    return words.words.empty() || is_one_in(5) ? (is_one_in(2) ? "" : std::string(300, 'i') + "->")
                                               : words.words[below(words.words.size())];
  }

  void set(onnx::AttributeProto& a, const OperatorWords& words) {
    const std::uint64_t count = is_one_in(3)   ? below(2 * rank_ + 2)
                                : is_one_in(2) ? rank_
                                               : below(4);
    switch (a.type()) {
      case onnx::AttributeProto::INT:
        return a.set_i(number());
      case onnx::AttributeProto::FLOAT:
        return a.set_f(static_cast<float>(number()));
      case onnx::AttributeProto::STRING:
        return a.set_s(word(words));
      case onnx::AttributeProto::TENSOR: {
        const std::vector<std::int64_t> sizes = shape();
        return fill(*a.mutable_t(), sizes, type());
      }
      case onnx::AttributeProto::GRAPH:
        return a.mutable_g()->set_name("g");
      default:
        break;
    }
    for (std::uint64_t i = 0; i < count; ++i) {
      if (a.type() == onnx::AttributeProto::INTS) a.add_ints(number());
      if (a.type() == onnx::AttributeProto::FLOATS) a.add_floats(static_cast<float>(number()));
      if (a.type() == onnx::AttributeProto::STRINGS) a.add_strings(word(words));
    }
  }

  const ImporterWords& words_;
  std::mt19937_64 random_;
  std::uint64_t rank_ = 0;
  std::vector<std::int64_t> sizes_;
  int type_ = onnx::TensorProto::FLOAT;
};

}  // namespace tessera::import
