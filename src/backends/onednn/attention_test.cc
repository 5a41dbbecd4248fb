// SPDX-License-Identifier: Apache-2.0
// Attention in blocks of queries: what is computed so, with which memory, and that the numbers are
// those of the definition.
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "backends/onednn/library_handle.h"
#include "backends/onednn/runtime/call_site.h"

namespace tessera::backends::onednn {
namespace {

using Sizes = std::vector<std::int64_t>;

// softmax(q k^T / 2 + mask) v: q[batch,rows,heads*depth], k and v[batch,columns,heads*depth],
// mask of up to [batch,heads,rows,columns].
struct Case {
  std::string name;
  std::int64_t batch = 1, heads = 2, rows = 1501, columns = 1501;
  Sizes mask = {};  // without one if empty
  bool is_causal = false;
  bool is_open = false;          // a run says how many rows there are
  bool scores_are_read = false;  // by somebody outside
  bool may_be_whole = false;     // where the library has its reference alone for the blocks
  const char* dtype = "float32";
  std::int64_t depth = 4;

  std::int64_t width() const { return heads * depth; }
  std::uint64_t score_bytes() const {
    return static_cast<std::uint64_t>(batch * heads * rows * columns) * sizeof(float);
  }
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

// A size, of which `per_row` is that for each row.
std::string text(const Case& c, std::int64_t size, std::int64_t per_row) {
  if (per_row == 0 || !c.is_open) return fmt::format("\"{}\"", size);
  return per_row == 1 ? "\"n\"" : fmt::format("\"{}*n\"", per_row);
}
std::string text(const Case& c, const Sizes& sizes, const Sizes& per_row) {
  std::string out;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    out += (i > 0 ? "," : "") + text(c, sizes[i], per_row[i]);
  }
  return out;
}
std::string row_major_text(const Case& c, const Sizes& dims, std::size_t rows_axis) {
  Sizes strides(dims.size(), 1), per_row(dims.size(), 0);
  for (std::size_t i = dims.size() - 1; i-- > 0;) {
    const bool has_rows = i + 1 == rows_axis && dims[rows_axis] == c.rows;
    strides[i] = strides[i + 1] * dims[i + 1];
    per_row[i] = has_rows ? strides[i + 1] : per_row[i + 1] * dims[i + 1];
  }
  return text(c, strides, per_row);
}

std::string input(const Case& c, const char* name, const std::string& shape) {
  return fmt::format(
      R"({{"attrs":{{"dtype":[["{}"]],"shape":[[[{}]]]}},"name":"{}","op":"input"}},)", c.dtype,
      shape, name);
}

std::string kernel(const Case& c, const std::string& attributes, int inputs,
                   const std::string& shape, const std::string& entries) {
  return fmt::format(
      R"({{"attrs":{{"dtype":[["{}"]],{},"num_inputs":"{}","num_outputs":"1","shape":[[[{}]]],
      "workspace_bytes":[["0"]]}},"inputs":[{}],"name":"kernel","op":"kernel"}})",
      c.dtype, attributes, inputs, shape, entries);
}

std::string graph_of(const Case& c) {
  const std::int64_t b = c.batch, h = c.heads, r = c.rows, k = c.columns, d = c.depth;
  const std::int64_t w = c.width();
  const bool has_mask = !c.mask.empty();
  const std::string q_shape = text(c, {b, r, w}, {0, 1, 0}),
                    kv_shape = text(c, {b, k, w}, {0, 0, 0});
  const std::string scores = text(c, {b, h, r, k}, {0, 0, 1, 0});
  const std::string score_strides = row_major_text(c, {b, h, r, k}, 2);
  const std::string by_head = text(c, {r * w, d, w, 1}, {w, 0, 0, 0});
  std::string nodes = input(c, "q", q_shape) + input(c, "k", kv_shape) + input(c, "v", kv_shape);
  std::string mask_attributes;
  if (has_mask) {
    const bool has_rows = c.mask[2] == r;
    const std::string mask = text(c, c.mask, {0, 0, has_rows ? 1 : 0, 0});
    nodes += input(c, "mask", mask);
    mask_attributes = fmt::format(R"("operand2_dims":[[{}]],"operand2_strides":[[{}]],)", mask,
                                  row_major_text(c, c.mask, 2));
  }
  const int first = has_mask ? 4 : 3;
  nodes += kernel(
      c,
      fmt::format(R"("kernel":[["matmul"]],"operand0_dims":[[{}]],
      "operand0_strides":[[{}]],"operand1_dims":[[{}]],"operand1_strides":[[{}]],{}
      "post_ops":[["eltwise_linear","-1","0.5","0"{}]],"result_dims":[[{}]],
      "result_strides":[[{}]],"roles":[["source","weights"{}]])",
                  text(c, {b, h, r, d}, {0, 0, 1, 0}), by_head, text(c, {b, h, d, k}, {0, 0, 0, 0}),
                  text(c, {k * w, d, 1, w}, {0, 0, 0, 0}), mask_attributes,
                  has_mask ? R"(,"binary_add","2","0","0")" : "", scores, score_strides,
                  has_mask ? R"(,"post_op")" : ""),
      has_mask ? 3 : 2, scores, has_mask ? "[0,0,0],[1,0,0],[3,0,0]" : "[0,0,0],[1,0,0]");
  nodes += "," + kernel(c,
                        fmt::format(R"("algorithm":[["softmax_accurate"]],"axis":[["3"]],
      "kernel":[["softmax"]],"operand0_dims":[[{0}]],"operand0_strides":[[{1}]],
      "result_dims":[[{0}]],"result_strides":[[{1}]],"roles":[["source"]])",
                                    scores, score_strides),
                        1, scores, fmt::format("[{},0,0]", first));
  nodes += "," + kernel(c,
                        fmt::format(R"("kernel":[["matmul"]],"operand0_dims":[[{}]],
      "operand0_strides":[[{}]],"operand1_dims":[[{}]],"operand1_strides":[[{}]],
      "result_dims":[[{}]],"result_strides":[[{}]],"roles":[["source","weights"]])",
                                    scores, score_strides, text(c, {b, h, k, d}, {0, 0, 0, 0}),
                                    text(c, {k * w, d, w, 1}, {0, 0, 0, 0}),
                                    text(c, {b, h, r, d}, {0, 0, 1, 0}), by_head),
                        2, q_shape, fmt::format("[{},0,0],[2,0,0]", first + 1));
  return fmt::format(
      R"({{"arg_nodes":[0,1,2{}],"heads":[[{},0,0]{}],"node_row_ptr":[{}],
      "nodes":[{}]}})",
      has_mask ? ",3" : "", first + 2, c.scores_are_read ? fmt::format(",[{},0,0]", first) : "",
      fmt::join(Sizes(has_mask ? Sizes{0, 1, 2, 3, 4, 5, 6, 7} : Sizes{0, 1, 2, 3, 4, 5, 6}), ","),
      nodes);
}

// ---- Plans -------------------------------------------------------------------------------------

struct Planned {
  std::size_t repeats = 0;
  std::int64_t blocks = 1;
  std::uint64_t workspace_bytes = 0;
};

Planned planned(const Case& c, int threads) {
  runtime::JsonGraph graph;
  EXPECT_TRUE(graph.parse(graph_of(c))) << graph.error();
  if (c.is_open) {
    EXPECT_TRUE(graph.set_size("n", c.rows));
  }
  const Library& library = *compiler_library();
  Plan plan(library.api(), library.engine(), threads);
  EXPECT_TRUE(plan.build(graph)) << plan.error();
  Planned out = {plan.repeats().size(), 1, plan.workspace_bytes()};
  for (const Repeat& repeat : plan.repeats()) out.blocks = repeat.blocks.count();
  return out;
}

TEST(Attention, IsComputedInBlocksWhereItsScoresAreManyTimesTheCaches) {
  if (compiler_library() == nullptr) GTEST_SKIP() << compiler_library_error();
  const Case large = {.name = "", .heads = 6, .depth = 64};
  EXPECT_GT(planned(large, 1).blocks, 10);
  EXPECT_GT(planned(large, 2).blocks, 5);
  EXPECT_LT(planned(large, 2).blocks, planned(large, 1).blocks);
  const Case few_positions = {.name = "", .heads = 6, .rows = 500, .columns = 500, .depth = 64};
  EXPECT_EQ(planned(few_positions, 2).repeats, 0u);
  const Case few_queries = {.name = "", .batch = 64, .heads = 16, .rows = 8, .depth = 64};
  EXPECT_EQ(planned(few_queries, 1).repeats, 0u);
}

// ... and then takes the memory of one block's.
TEST(Attention, NeedsNoMemoryForAllScores) {
  if (compiler_library() == nullptr) GTEST_SKIP() << compiler_library_error();
  const Case large = {.name = "", .heads = 6, .depth = 64};
  Case whole = large;
  whole.scores_are_read = true;
  EXPECT_LT(planned(large, 2).workspace_bytes, large.score_bytes() / 4);
  EXPECT_EQ(planned(whole, 2).repeats, 0u);
  EXPECT_GE(planned(whole, 2).workspace_bytes, large.score_bytes());
}

// It was not faster so.
TEST(Attention, OfSixteenBitsIsComputedWhole) {
  if (compiler_library() == nullptr) GTEST_SKIP() << compiler_library_error();
  if (library_types_of_16_bits().empty()) GTEST_SKIP() << "no 16 bits here";
  const Case large = {.name = "", .heads = 6, .dtype = "bfloat16", .depth = 64};
  EXPECT_EQ(planned(large, 1).repeats, 0u);
}

// ---- Runs --------------------------------------------------------------------------------------

struct Array4 {
  Sizes dims;
  std::vector<float> data;

  explicit Array4(Sizes shape) : dims(std::move(shape)) {
    std::int64_t count = 1;
    for (const std::int64_t d : dims) count *= d;
    data.resize(static_cast<std::size_t>(count));
  }
  tessera_tensor tensor() {
    return {.data = data.data(),
            .device = {TESSERA_CPU, 0},
            .ndim = static_cast<std::int32_t>(dims.size()),
            .dtype = {2, 32, 1},
            .shape = dims.data(),
            .strides = nullptr,
            .byte_offset = 0};
  }
  void fill(unsigned seed) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<float> uniform(-1, 1);
    for (float& x : data) x = uniform(random);
  }
};

// What is added to a score.
float mask_at(const Case& c, const Array4& mask, Sizes at) {
  if (c.mask.empty()) return 0;
  std::int64_t index = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    index = index * c.mask[i] + (c.mask[i] == 1 ? 0 : at[i]);
  }
  return mask.data[static_cast<std::size_t>(index)];
}

void attend(const Case& c, const Array4& q, const Array4& k, const Array4& v, const Array4& mask,
            Array4* out) {
  const auto at = [&](const Array4& a, std::int64_t b, std::int64_t row, std::int64_t h) {
    return a.data.data() + (b * a.dims[1] + row) * c.width() + h * c.depth;
  };
  std::vector<double> weights(static_cast<std::size_t>(c.columns));
  for (std::int64_t i = 0; i < c.batch * c.heads * c.rows; ++i) {
    const std::int64_t row = i % c.rows, h = i / c.rows % c.heads, b = i / c.rows / c.heads;
    const float* query = at(q, b, row, h);
    double sum = 0;
    for (std::int64_t j = 0; j < c.columns; ++j) {
      const float* key = at(k, b, j, h);
      double score = 0;
      for (std::int64_t e = 0; e < c.depth; ++e) score += double{query[e]} * key[e];
      score = score * 0.5 + mask_at(c, mask, {b, h, row, j});
      sum += weights[static_cast<std::size_t>(j)] = std::exp(score);
    }
    for (std::int64_t e = 0; e < c.depth; ++e) {
      double total = 0;
      for (std::int64_t j = 0; j < c.columns; ++j) {
        total += weights[static_cast<std::size_t>(j)] * at(v, b, j, h)[e];
      }
      out->data[static_cast<std::size_t>(((b * c.rows + row) * c.heads + h) * c.depth + e)] =
          static_cast<float>(total / sum);
    }
  }
}

class BlockedAttention : public ::testing::TestWithParam<Case> {};

TEST_P(BlockedAttention, GivesTheNumbersOfTheDefinition) {
  if (compiler_library() == nullptr) GTEST_SKIP() << compiler_library_error();
  const Case& c = GetParam();
  if (!c.may_be_whole) {
    EXPECT_EQ(planned(c, 1).repeats, c.scores_are_read ? 0u : 1u);
  }
  Array4 q({c.batch, c.rows, c.width()}), k({c.batch, c.columns, c.width()}), v(k.dims),
      mask(c.mask.empty() ? Sizes{1} : c.mask), out(q.dims),
      scores({c.batch, c.heads, c.rows, c.columns});
  q.fill(1), k.fill(2), v.fill(3), mask.fill(4);
  for (std::size_t i = 0; c.is_causal && i < mask.data.size(); ++i) {
    const auto row = static_cast<std::int64_t>(i) / c.columns % c.rows;
    mask.data[i] = static_cast<std::int64_t>(i) % c.columns <= row ? 0.0F : -1e9F;
  }
  Array4 wanted = out;
  attend(c, q, k, v, mask, &wanted);

  Library& library = *compiler_library();
  dnnl_stream_t stream = nullptr;
  ASSERT_EQ(library.api().stream_create(&stream, library.engine(), dnnl_stream_default_flags),
            dnnl_success);
  const std::string graph = graph_of(c);
  {
    CallSite site(library, stream, 1);
    TextBuffer error;
    ASSERT_TRUE(site.create({"attention", graph.data(), graph.size(), nullptr, 0}, &error))
        << error.text();
    tessera_tensor tensors[] = {q.tensor(),    k.tensor(),   v.tensor(),
                                mask.tensor(), out.tensor(), scores.tensor()};
    std::vector<tessera_tensor*> arguments = {&tensors[0], &tensors[1], &tensors[2]};
    if (!c.mask.empty()) arguments.push_back(&tensors[3]);
    arguments.push_back(&tensors[4]);
    if (c.scores_are_read) arguments.push_back(&tensors[5]);
    const tessera_call call = {};
    std::vector<float> first;
    for (int run = 0; run < 2; ++run) {
      std::fill(out.data.begin(), out.data.end(), NAN);
      ASSERT_TRUE(
          site.run(call, arguments.data(), static_cast<std::int32_t>(arguments.size()), &error))
          << error.text();
      for (std::size_t i = 0; i < wanted.data.size(); ++i) {
        ASSERT_NEAR(out.data[i], wanted.data[i], 2e-6F) << "element " << i << " of run " << run;
      }
      if (run == 0) first = out.data;
    }
    EXPECT_EQ(out.data, first);
  }
  library.api().stream_destroy(stream);
}

const Case kCases[] = {
    {.name = "odd_length"},
    {.name = "fewer_keys", .heads = 3, .rows = 1997, .columns = 389},
    {.name = "two_batches", .batch = 2, .rows = 1033, .columns = 1033},
    {.name = "mask_of_keys", .batch = 2, .rows = 1033, .columns = 1033, .mask = {2, 1, 1, 1033}},
    {.name = "mask_of_queries_and_keys", .mask = {1, 1, 1501, 1501}},
    {.name = "mask_of_everything",
     .batch = 2,
     .rows = 1033,
     .columns = 1033,
     .mask = {2, 2, 1033, 1033}},
    {.name = "mask_of_a_batch",
     .batch = 3,
     .rows = 700,
     .columns = 701,
     .mask = {3, 1, 700, 701},
     .depth = 64},
    {.name = "mask_of_queries_of_a_batch",
     .batch = 2,
     .rows = 1033,
     .columns = 1033,
     .mask = {2, 1, 1033, 1},
     .may_be_whole = true},
    {.name = "mask_of_many_batches",
     .batch = 40,
     .heads = 1,
     .rows = 300,
     .columns = 301,
     .mask = {40, 1, 300, 301}},
    {.name = "mask_of_heads", .mask = {1, 2, 1, 1501}, .may_be_whole = true},
    {.name = "causal", .mask = {1, 1, 1501, 1501}, .is_causal = true},
    {.name = "many_single_heads", .heads = 160, .rows = 128, .columns = 128},
    {.name = "many_heads", .heads = 40, .rows = 251, .columns = 251, .mask = {1, 1, 251, 251}},
    {.name = "blocks_of_heads",
     .heads = 160,
     .rows = 128,
     .columns = 128,
     .mask = {1, 160, 1, 128},
     .may_be_whole = true},
    {.name = "blocks_of_rows_of_a_head", .rows = 131, .columns = 9001, .mask = {1, 1, 131, 9001}},
    {.name = "scores_that_somebody_reads", .scores_are_read = true},
    {.name = "open_rows", .mask = {1, 1, 1501, 1501}, .is_open = true},
};

INSTANTIATE_TEST_SUITE_P(Cases, BlockedAttention, ::testing::ValuesIn(kCases),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace tessera::backends::onednn
