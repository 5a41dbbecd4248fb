// SPDX-License-Identifier: Apache-2.0
#include "collage/combiners.h"

#include <algorithm>

#include "relay/patterns/matcher.h"

namespace tessera::collage {
namespace {

using relay::OpPattern;
using relay::expr_facts::as;

// The candidates that read a value which leaves this one, ascending.
std::vector<std::size_t> downstream_of(const CandidateSet& candidates, const Candidate& upstream) {
  std::vector<std::size_t> out;
  for (const Index index : upstream.sub_graph.output()) {
    const auto& entered = candidates.entered_at(index);
    out.insert(out.end(), entered.begin(), entered.end());
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

bool fires(const std::vector<KindPair>& pairs, const SubGraph& upstream,
           const SubGraph& downstream) {
  return std::any_of(pairs.begin(), pairs.end(), [&](const KindPair& pair) {
    return upstream.kind() <= pair.upstream && downstream.kind() <= pair.downstream;
  });
}

Candidate pair(const DataflowGraph& graph, const Candidate& a, const Candidate& b) {
  const Candidate parts[] = {a, b};
  return joined(graph, parts);
}

// Calls visit(number, candidate) for those of this round.
template <class F>
void for_each_new(const CombinerContext& c, F&& visit) {
  for (std::size_t i = c.candidates.first_new();
       i < c.candidates.size() && !c.candidates.is_overfull(); ++i) {
    // The list may move when a union is added to it.
    const Candidate candidate = c.candidates[i];
    visit(i, candidate);
  }
}

void add_by_kind(const CombinerContext& c, const std::vector<KindPair>& pairs) {
  for_each_new(c, [&](std::size_t i, const Candidate& upstream) {
    for (const std::size_t j : downstream_of(c.candidates, upstream)) {
      const Candidate& downstream = c.candidates[j];
      const std::size_t depth = upstream.sub_graph.depth() + downstream.sub_graph.depth();
      if (i == j || (c.max_depth > 0 && depth > c.max_depth)) continue;
      if (!fires(pairs, upstream.sub_graph, downstream.sub_graph)) continue;
      if (c.candidates.has_union(upstream, downstream)) continue;
      if (!are_touching(c.graph, upstream.sub_graph, downstream.sub_graph)) continue;
      c.candidates.add(pair(c.graph, upstream, downstream));
    }
  });
}

bool is_injective(const Candidate& candidate) {
  return candidate.sub_graph.kind() <= OpPattern::kInjective;
}

// Adds, for each way to choose a producer of every field, the union of these, the tuple and its
// consumer. A producer of two fields is one; producers that overlap otherwise are no choice.
class TupleCombination {
 public:
  TupleCombination(const CombinerContext& context, const Candidate& consumer, Index tuple)
      : c_(context), consumer_(consumer), tuple_(tuple) {
    for (const Index field : c_.graph[tuple].inputs) {
      std::vector<std::size_t> producers;
      for (const std::size_t j : c_.candidates.leaving_at(field)) {
        if (is_injective(c_.candidates[j])) producers.push_back(j);
      }
      producers_.push_back(std::move(producers));
    }
  }

  void run() {
    const auto none = [](const auto& producers) { return producers.empty(); };
    if (std::any_of(producers_.begin(), producers_.end(), none)) return;
    const Candidate end = pair(c_.graph, single_node(c_.graph, *consumer_.spec, tuple_), consumer_);
    std::vector<std::size_t> choice(producers_.size(), 0);
    do {
      add(choice, end);
    } while (next(choice) && !c_.candidates.is_overfull());
  }

 private:
  // The last field varies fastest.
  bool next(std::vector<std::size_t>& choice) const {
    for (std::size_t k = choice.size(); k-- > 0;) {
      if (++choice[k] < producers_[k].size()) return true;
      choice[k] = 0;
    }
    return false;
  }

  void add(const std::vector<std::size_t>& choice, const Candidate& end) {
    std::vector<std::size_t> chosen;
    for (std::size_t k = 0; k < choice.size(); ++k) {
      const std::size_t producer = producers_[k][choice[k]];
      if (std::find(chosen.begin(), chosen.end(), producer) == chosen.end())
        chosen.push_back(producer);
    }
    std::vector<Candidate> parts;
    for (const std::size_t producer : chosen) parts.push_back(c_.candidates[producer]);
    parts.push_back(end);
    if (are_disjoint(parts)) c_.candidates.add(joined(c_.graph, parts));
  }

  static bool are_disjoint(const std::vector<Candidate>& parts) {
    std::vector<Index> all;
    for (const Candidate& part : parts) {
      const IndexSet& inside = part.sub_graph.inside();
      all.insert(all.end(), inside.begin(), inside.end());
    }
    std::sort(all.begin(), all.end());
    return std::adjacent_find(all.begin(), all.end()) == all.end();
  }

  const CombinerContext& c_;
  const Candidate& consumer_;
  const Index tuple_;
  std::vector<std::vector<std::size_t>> producers_;  // by field
};

void add_tuple_arguments(const CombinerContext& c) {
  for_each_new(c, [&](std::size_t, const Candidate& consumer) {
    if (!is_injective(consumer)) return;
    for (const Index input : consumer.sub_graph.input(c.graph)) {
      const bool is_tuple = as<relay::Tuple>(c.graph.indexed(), input) != nullptr;
      if (is_tuple && !c.graph[input].inputs.empty()) TupleCombination(c, consumer, input).run();
    }
  });
}

void add_projections(const CombinerContext& c) {
  for_each_new(c, [&](std::size_t, const Candidate& upstream) {
    for (const Index output : upstream.sub_graph.output()) {
      if (as<relay::Project>(c.graph.indexed(), output) == nullptr) continue;
      c.candidates.add(pair(c.graph, upstream, single_node(c.graph, *upstream.spec, output)));
    }
  });
}

void add_constants(const CombinerContext& c) {
  for_each_new(c, [&](std::size_t, const Candidate& reader) {
    std::vector<Index> constants;
    for (const Index input : reader.sub_graph.input(c.graph)) {
      if (as<relay::Constant>(c.graph.indexed(), input) != nullptr) constants.push_back(input);
    }
    if (constants.empty()) return;
    const Candidate read{"", SubGraph(c.graph, IndexSet(c.graph.size(), std::move(constants))),
                         reader.spec};
    c.candidates.add(pair(c.graph, read, reader));
  });
}

}  // namespace

Combiner combine_by_kind(std::vector<KindPair> pairs) {
  return [pairs = std::move(pairs)](const CombinerContext& c) { add_by_kind(c, pairs); };
}
Combiner combine_tuple_arguments() { return add_tuple_arguments; }
Combiner combine_projections() { return add_projections; }
Combiner combine_constants() { return add_constants; }

std::vector<KindPair> pairs_of_one_nest() {
  return {{OpPattern::kOutFusable, OpPattern::kBroadcast},
          {OpPattern::kBroadcast, OpPattern::kCommReduce},
          {OpPattern::kInjective, OpPattern::kInjective}};
}

std::vector<Combiner> combiners_of(relay::Combining combining) {
  switch (combining) {
    case relay::Combining::kNone:
      return {};
    case relay::Combining::kByKind:
      return {combine_by_kind(pairs_of_one_nest())};
    case relay::Combining::kAny:
      break;
  }
  return {combine_by_kind({{OpPattern::kOutFusable, OpPattern::kOutFusable}})};
}

}  // namespace tessera::collage
