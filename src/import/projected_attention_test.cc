// SPDX-License-Identifier: Apache-2.0
// Attention of com.microsoft. Features are single numbers and all keys equal, so that a result is
// the mean of the values that count.
#include <gtest/gtest.h>

#include "import/testing/model.h"
#include "import/testing/refusals.h"
#include "ops/evaluation/evaluate_function.h"

namespace tessera::import {
namespace {

using Ints = std::vector<std::int64_t>;
using Doubles = std::vector<double>;
using onnx::TensorProto;

class ProjectedAttention : public ::testing::Test {
 protected:
  std::string floats(const Ints& shape, const Doubles& values) {
    return add(tensor_from_doubles(shape, kFloat32, values), TensorProto::FLOAT);
  }
  std::string ints(const Ints& shape, const Ints& values) {
    return add(tensor_from_ints(shape, kInt32, values), TensorProto::INT32);
  }
  std::string add(const Tensor& x, int type) {
    inputs_.push_back(x);
    m_.input("x" + std::to_string(inputs_.size()), x.shape, type);
    return "x" + std::to_string(inputs_.size());
  }
  // Tokens 1, 2, 4: values of the same numbers, one head.
  onnx::NodeProto* node(std::vector<std::string> more = {},
                        std::vector<std::string> outputs = {"y"}) {
    std::vector<std::string> names = {floats({1, 3, 1}, {1, 2, 4}), floats({1, 3}, {0, 0, 1}),
                                      floats({3}, {1, 1, 0})};
    names.insert(names.end(), more.begin(), more.end());
    auto* n = m_.node("Attention", names, outputs, "node");
    n->set_domain("com.microsoft");
    set_int(n, "num_heads", 1);
    for (const std::string& name : outputs) m_.output(name);
    return n;
  }
  std::vector<Tensor> results() {
    const auto module = m_.import();
    if (!module) throw std::runtime_error(render(module.error()));
    return ops::evaluate(*module, module->functions.at("main"), inputs_);
  }
  void expect(const Ints& shape, const Doubles& wanted) { expect(results().at(0), shape, wanted); }
  static void expect(const Tensor& y, const Ints& shape, const Doubles& wanted) {
    EXPECT_EQ(y.shape, shape);
    ASSERT_EQ(y.num_elements(), static_cast<std::int64_t>(wanted.size()));
    for (std::int64_t i = 0; i < y.num_elements(); ++i) {
      EXPECT_NEAR(element_as_double(y, i), wanted[static_cast<std::size_t>(i)], 1e-5) << i;
    }
  }

  TestModel m_;
  std::vector<Tensor> inputs_;
};

TEST_F(ProjectedAttention, OfAllTokens) {
  node();
  expect({1, 3, 1}, Doubles(3, 7.0 / 3));
}

TEST_F(ProjectedAttention, OfTokensSoFar) {
  set_int(node(), "unidirectional", 1);
  expect({1, 3, 1}, {1, 1.5, 7.0 / 3});
}

TEST_F(ProjectedAttention, MaskOfKeys) {
  node({ints({1, 3}, {1, 0, 1})});
  expect({1, 3, 1}, Doubles(3, 2.5));
}

TEST_F(ProjectedAttention, MaskOfPairs) {
  node({ints({1, 3, 3}, {1, 0, 0, 0, 1, 0, 0, 1, 1})});
  expect({1, 3, 1}, {1, 2, 3});
}

TEST_F(ProjectedAttention, MaskByEnds) {
  node({ints({1}, {2})});
  expect({1, 3, 1}, Doubles(3, 1.5));
}

TEST_F(ProjectedAttention, MaskByEndsAndBeginnings) {
  node({ints({2}, {3, 1})});
  expect({1, 3, 1}, Doubles(3, 3));
}

// A mask for four tokens, of which there are three: rows and columns 0 to 2.
TEST_F(ProjectedAttention, MaskForTheLongest) {
  node({ints({1, 1, 4, 4}, {1, 0, 0, 1, 0, 1, 0, 1, 1, 0, 1, 1, 0, 0, 0, 1})});
  expect({1, 3, 1}, {1, 2, 2.5});
}

TEST_F(ProjectedAttention, MaskOfOtherSizesIsRefused) {
  node({ints({5}, {1, 1, 1, 1, 1})});
  expect_refused(m_.import(), {{Code::kUnsupportedOnnxNode, "node", "a mask of the shape (5)"}});
}

// A score of log 2 more counts twice.
TEST_F(ProjectedAttention, AddsToScores) {
  const double twice = 0.69314718056;
  node({"", "", floats({1, 1, 3, 3}, {0, 0, 0, twice, 0, 0, 0, 0, twice})});
  expect({1, 3, 1}, {7.0 / 3, 2, 11.0 / 4});
}

TEST_F(ProjectedAttention, PastComesFirst) {
  set_int(node({"", floats({2, 1, 1, 1, 1}, {1, 9})}, {"y", "present"}), "unidirectional", 1);
  const std::vector<Tensor> found = results();
  expect(found.at(0), {1, 3, 1}, {5, 4, 4});
  expect(found.at(1), {2, 1, 1, 4, 1}, {1, 1, 1, 1, 9, 1, 2, 4});
}

TEST_F(ProjectedAttention, HeadsThatDoNotDivideItsFeaturesAreRefused) {
  node()->mutable_attribute(0)->set_i(2);
  expect_refused(m_.import(), {{Code::kWrongAttribute, "node", "1 features are not those of 2"}});
}

TEST_F(ProjectedAttention, RotationIsRefused) {
  set_int(node(), "do_rotary", 1);
  expect_refused(m_.import(), {{Code::kUnsupportedOnnxNode, "node", "do_rotary"}});
}

// ---- Embeddings ----

struct Embeddings : ProjectedAttention {
  // Words and places of two features, which a norm with scale 1 and shift 0 turns to -1 and 1.
  onnx::NodeProto* embed(const std::string& mask, const std::string& places) {
    const std::string ids = ints({1, 2}, {1, 0}), words = floats({2, 2}, {1, 2, 30, 40});
    const std::string table = floats({3, 2}, {0, 1, 0, 5, 9, 0});
    const std::string one = floats({2}, {1, 1}), none = floats({2}, {0, 0});
    auto* n =
        m_.node("EmbedLayerNormalization", {ids, "", words, table, "", one, none, mask, places},
                {"y", "index", "sum"}, "node");
    n->set_domain("com.microsoft");
    for (const char* name : {"y", "index", "sum"}) m_.output(name);
    return n;
  }
};

TEST_F(Embeddings, PlacesCountFromZero) {
  embed("", "");
  const std::vector<Tensor> found = results();
  expect(found.at(0), {1, 2, 2}, {-1, 1, -1, 1});
  EXPECT_EQ(found.at(1), Tensor::of<std::int32_t>({1}, kInt32, {0}));
  expect(found.at(2), {1, 2, 2}, {30, 41, 1, 7});
}

TEST_F(Embeddings, MaskAndPlacesOfItsOwn) {
  const std::string mask = ints({1, 2}, {1, 0}), places = ints({1, 2}, {2, 2});
  embed(mask, places);
  const std::vector<Tensor> found = results();
  expect(found.at(0), {1, 2, 2}, {-1, 1, 1, -1});
  EXPECT_EQ(found.at(1), Tensor::of<std::int32_t>({1}, kInt32, {1}));
  expect(found.at(2), {1, 2, 2}, {39, 40, 10, 2});
}

// All weights are of bytes with scale 0.5 and zero point 2, but for the norm's scale.
TEST_F(Embeddings, Quantized) {
  const auto bytes = [&](const Ints& shape, const Ints& values) {
    return add(tensor_from_ints(shape, kUInt8, values), TensorProto::UINT8);
  };
  const std::string ids = ints({1, 2}, {1, 0}), words = bytes({2, 2}, {2, 4, 6, 8});
  const std::string table = bytes({2, 2}, {2, 2, 8, 2});
  const std::string one = bytes({2}, {3, 3}), half = bytes({2}, {3, 3});
  const std::string scale = floats({}, {0.5}), whole = floats({}, {1}), zero = bytes({}, {2});
  m_.node("QEmbedLayerNormalization",
          {ids, "", words, table, "", one, half, "", scale, scale, "", whole, scale, zero, zero, "",
           zero, zero},
          {"y", "index"}, "node")
      ->set_domain("com.microsoft");
  m_.output("y");
  expect({1, 2, 2}, {-0.5, 1.5, 1.5, -0.5});
}

}  // namespace
}  // namespace tessera::import
