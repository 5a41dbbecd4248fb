// SPDX-License-Identifier: Apache-2.0
#include "plan/order_search.h"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <random>
#include <string>

#include <gtest/gtest.h>

namespace tessera::plan {
namespace {

// Step i makes memory i of so many bytes out of what is listed.
StepGraph graph_of(const std::vector<std::int64_t>& bytes,
                   const std::vector<std::vector<std::uint32_t>>& inputs) {
  StepGraph graph;
  graph.memory.resize(bytes.size());
  graph.steps.resize(bytes.size());
  for (std::uint32_t i = 0; i < bytes.size(); ++i) {
    graph.memory[i].bytes = bytes[i];
    graph.steps[i].before = inputs[i];
    graph.steps[i].memory = inputs[i];
    graph.steps[i].memory.push_back(i);
    for (const std::uint32_t m : graph.steps[i].memory) ++graph.memory[m].steps;
    for (const std::uint32_t before : inputs[i]) graph.steps[before].after.push_back(i);
  }
  return graph;
}

StepOrder in_turn(const StepGraph& graph) {
  StepOrder order(graph.steps.size());
  std::iota(order.begin(), order.end(), 0u);
  return order;
}

bool is_legal(const StepGraph& graph, const StepOrder& order) {
  std::vector<std::size_t> rank(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) rank[order[i]] = i;
  for (std::uint32_t i = 0; i < graph.steps.size(); ++i) {
    for (const std::uint32_t before : graph.steps[i].before) {
      if (rank[before] >= rank[i]) return false;
    }
  }
  return std::is_permutation(order.begin(), order.end(), in_turn(graph).begin());
}

std::int64_t least_of_all(const StepGraph& graph) {
  StepOrder order = in_turn(graph);
  std::int64_t least = peak_of(graph, order);
  while (std::next_permutation(order.begin(), order.end())) {
    if (is_legal(graph, order)) least = std::min(least, peak_of(graph, order));
  }
  return least;
}

TEST(OrderSearch, ThePeakCountsWhatAStepTouches) {
  const StepGraph chain = graph_of({10, 20, 5}, {{}, {0}, {1}});
  EXPECT_EQ(peak_of(chain, {0, 1, 2}), 30);
}

// Four branches, each of which widens and narrows again: one after the other is best.
TEST(OrderSearch, BranchesComeOneAfterTheOther) {
  std::vector<std::int64_t> bytes = {8};
  std::vector<std::vector<std::uint32_t>> inputs = {{}};
  for (int b = 0; b < 4; ++b) bytes.push_back(100), inputs.push_back({0});
  for (std::uint32_t b = 1; b <= 4; ++b) bytes.push_back(10), inputs.push_back({b});
  bytes.push_back(40), inputs.push_back({5, 6, 7, 8});
  const StepGraph graph = graph_of(bytes, inputs);
  EXPECT_EQ(peak_of(graph, in_turn(graph)), 410);
  const StepOrder order = least_alive_order(graph);
  EXPECT_TRUE(is_legal(graph, order));
  EXPECT_EQ(peak_of(graph, order), 140);
}

TEST(OrderSearch, WhatIsAliveBeforeAndAfterCounts) {
  StepGraph graph = graph_of({10, 20}, {{}, {0}});
  graph.memory.push_back({100, 1, true, false});
  graph.steps[0].memory.push_back(2);
  EXPECT_EQ(peak_of(graph, {0, 1}), 110);
  graph.memory[2].after = true;
  EXPECT_EQ(peak_of(graph, {0, 1}), 130);
  graph.steps[1].scratch_bytes = 7;
  EXPECT_EQ(peak_of(graph, {0, 1}), 137);
}

TEST(OrderSearch, SmallGraphsGetTheBestOrder) {
  std::mt19937 random(5);
  for (int round = 0; round < 60; ++round) {
    std::vector<std::int64_t> bytes;
    std::vector<std::vector<std::uint32_t>> inputs;
    for (std::uint32_t i = 0; i < 7; ++i) {
      bytes.push_back(1 + random() % 50);
      auto& list = inputs.emplace_back();
      for (std::uint32_t j = 0; j < i; ++j) {
        if (random() % 3 == 0) list.push_back(j);
      }
    }
    const StepGraph graph = graph_of(bytes, inputs);
    const StepOrder order = least_alive_order(graph);
    ASSERT_TRUE(is_legal(graph, order));
    EXPECT_EQ(peak_of(graph, order), least_of_all(graph)) << round;
    EXPECT_EQ(order, least_alive_order(graph));
  }
}

TEST(OrderSearch, ManyStepsTakeSeconds) {
  std::mt19937 random(5);
  std::vector<std::int64_t> bytes;
  std::vector<std::vector<std::uint32_t>> inputs;
  for (std::uint32_t i = 0; i < 3000; ++i) {
    bytes.push_back(1 + random() % 500);
    auto& list = inputs.emplace_back();
    for (int n = 0; n < 2 && i > 0; ++n) {
      const std::uint32_t other = i - 1 - random() % std::min<std::uint32_t>(i, 30);
      if (list.empty() || list[0] != other) list.push_back(other);
    }
  }
  const StepGraph graph = graph_of(bytes, inputs);
  const auto begin = std::chrono::steady_clock::now();
  const StepOrder order = least_alive_order(graph);
  EXPECT_LT(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(), 20);
  EXPECT_LE(peak_of(graph, order), peak_of(graph, in_turn(graph)));
}

}  // namespace
}  // namespace tessera::plan
