// SPDX-License-Identifier: Apache-2.0
// Whatever a node is given, its converter answers with a graph or with an error.
#include <algorithm>
#include <set>

#include <gtest/gtest.h>

#include "import/converters.h"
#include "import/testing/model.h"
#include "ops/records/table.h"

namespace tessera::import {
namespace {

// Domain and type of what `qualified_name` joined.
std::pair<std::string, std::string> parts_of(const std::string& name) {
  const std::size_t dot = name.rfind('.');
  if (dot == std::string::npos) return {"", name};
  return {name.substr(0, dot), name.substr(dot + 1)};
}

std::set<std::string> all_operators() {
  std::set<std::string> names;
  for (const auto& table : converter_tables()) {
    for (const Converter& c : table) names.emplace(c.op_type);
  }
  for (const relay::Operator* op : ops::operators().all()) {
    names.insert(op->onnx.begin(), op->onnx.end());
  }
  return names;
}

// The graph of one node and its inputs, `rank` dimensions each; -1: no shape at all.
onnx::NodeProto* one_node(TestModel& m, const std::string& name, int inputs, int rank,
                          bool is_open) {
  const auto [domain, type] = parts_of(name);
  m.proto.clear_graph();
  m.proto.clear_opset_import();
  m.proto.add_opset_import()->set_version(18);
  if (!domain.empty()) {
    auto* import = m.proto.add_opset_import();
    import->set_domain(domain);
    import->set_version(1);
  }
  std::vector<std::string> names;
  for (int i = 0; i < inputs; ++i) {
    names.push_back("x" + std::to_string(i));
    const std::vector<std::int64_t> shape(static_cast<std::size_t>(std::max(rank, 0)), 2);
    m.input(names.back(), shape, i == 0 ? onnx::TensorProto::FLOAT : onnx::TensorProto::INT64);
    auto* tensor = m.proto.mutable_graph()->mutable_input(i)->mutable_type()->mutable_tensor_type();
    if (rank < 0) tensor->clear_shape();
    for (int d = 0; is_open && d < rank; ++d) {
      tensor->mutable_shape()->mutable_dim(d)->set_dim_param("n" + std::to_string(d));
    }
  }
  onnx::NodeProto* node = m.node(type, names, {"y"});
  node->set_domain(domain);
  m.output("y");
  return node;
}

// Inputs without a shape, which fail; then the converter is tried on stand-ins of every rank.
TEST(AnyInput, OfNoShape) {
  TestModel m;
  for (const std::string& name : all_operators()) {
    for (const int inputs : {1, 3, 5}) {
      auto* node = one_node(m, name, inputs, -1, false);
      add_attribute(node, "epsilon", onnx::AttributeProto::FLOAT)->set_f(0.5f);
      EXPECT_NO_THROW(EXPECT_FALSE(m.import())) << name << " of " << inputs;
    }
  }
}

TEST(AnyInput, OfAnyRankAndType) {
  TestModel m;
  for (const std::string& name : all_operators()) {
    for (const int rank : {0, 1, 3}) {
      for (const bool is_open : {false, true}) {
        for (const int inputs : {1, 3}) {
          one_node(m, name, inputs, rank, is_open);
          EXPECT_NO_THROW((void)m.import())
              << name << " of " << inputs << " of rank " << rank << ", " << is_open;
        }
      }
    }
  }
}

}  // namespace
}  // namespace tessera::import
