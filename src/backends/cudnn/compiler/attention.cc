// SPDX-License-Identifier: Apache-2.0
#include "backends/cudnn/compiler/attention.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "attention/describe.h"
#include "relay/patterns/refuse.h"

namespace tessera::backends::cudnn {
namespace {

using attention::Attention;
using attention::HeadsView;
using relay::NodeId;
using relay::Refusal;
using relay::refuse;
using Ints = std::vector<std::int64_t>;

constexpr std::int64_t kAlignBytes = 16;  // of a tensor that cuDNN reads

// What of it cuDNN is not given, though it can be described.
std::optional<Refusal> check_kind(const Attention& a, bool allows_tf32) {
  if (auto why = check_dtype(a.dtype, "attention")) return why;
  if (a.dtype == kFloat32 && !allows_tf32) {
    return Refusal{"cuDNN multiplies attention of float32 in tf32, which `-tf32` allows"};
  }
  if (a.mask && (a.chooses || a.mask_dtype.is_bool())) {
    return Refusal{
        "the mask chooses between scores and a number: cuDNN is given those that are "
        "added"};
  }
  if (a.mask && a.is_causal && !std::isinf(a.hidden)) {
    return Refusal{fmt::format(
        "the causal mask hides keys by {} and another mask is added: where that hides all others "
        "the number counts, and cuDNN is given none but infinity",
        a.hidden)};
  }
  if (a.zero_without_keys && a.mask) {
    return Refusal{"a row without a key is to be zero, which cuDNN does not promise"};
  }
  return std::nullopt;
}

// The operand, or the view, that a tensor of heads is.
class Tensors {
 public:
  Tensors(const Attention& a, Region& region) : a_(a), region_(region) {
    for (const NodeId id : {a.q.node, a.k.node, a.v.node}) add_operand(id, a.dtype);
    if (a.mask) add_operand(a.mask->node, a.mask_dtype);
  }

  Expected<std::size_t, Refusal> heads(const HeadsView& heads, View view) {
    const std::size_t operand = operand_of(heads.node);
    if (heads.offset == 0 && uses_of(heads.node) == 1) {
      region_.operands[operand].view = std::move(view);
      return operand;
    }
    const auto bytes = heads.offset * static_cast<std::int64_t>(a_.dtype.size_bytes());
    if (bytes % kAlignBytes != 0) {
      return refuse("heads begin {} bytes into their tensor, and cuDNN wants multiples of {}",
                    bytes, kAlignBytes);
    }
    return region_.add({"view",
                        {operand},
                        {{"offset_bytes", {std::to_string(bytes)}}},
                        std::move(view),
                        a_.dtype});
  }

  Expected<std::size_t, Refusal> mask(View view) {
    const std::size_t operand = operand_of(a_.mask->node);
    if (uses_of(a_.mask->node) > 0) return refuse("the mask is a tensor of heads, too");
    region_.operands[operand].view = std::move(view);
    return operand;
  }

 private:
  void add_operand(NodeId id, DType dtype) {
    const auto& all = region_.operands;
    const bool is_known =
        std::any_of(all.begin(), all.end(), [&](const Operand& o) { return o.value == id; });
    if (!is_known) region_.operands.push_back({id, dtype, {}});
  }
  std::size_t operand_of(NodeId id) const {
    const auto& all = region_.operands;
    const auto at =
        std::find_if(all.begin(), all.end(), [&](const Operand& o) { return o.value == id; });
    return static_cast<std::size_t>(at - all.begin());
  }
  std::size_t uses_of(NodeId id) const {
    return static_cast<std::size_t>(a_.q.node == id) + static_cast<std::size_t>(a_.k.node == id) +
           static_cast<std::size_t>(a_.v.node == id);
  }

  const Attention& a_;
  Region& region_;
};

View view_of(const HeadsView& heads, const Ints& dims) {
  return {dims, {heads.batch_stride, heads.head_stride, heads.row_stride, 1}};
}
View transposed(View view) {
  std::swap(view.dims[2], view.dims[3]);
  std::swap(view.strides[2], view.strides[3]);
  return view;
}

// Lies as it is, one along what it is repeated over.
View mask_view(const Attention& a) {
  const HeadsView& m = *a.mask;
  return packed({m.batch_stride == 0 ? 1 : a.batch, m.head_stride == 0 ? 1 : a.heads,
                 m.row_stride == 0 ? 1 : a.queries, a.keys});
}

// Adds the operations one after the other. What is in between is float32, but for what the last
// product multiplies.
class Builder {
 public:
  Builder(const Attention& a, Region& region)
      : a_(a),
        region_(region),
        scores_(packed({a.batch, a.heads, a.queries, a.keys})),
        rows_(packed({a.batch, a.heads, a.queries, 1})) {}

  std::size_t scaled_scores(std::size_t q, std::size_t k) {
    const std::size_t scores = region_.add({"matmul", {q, k}, {}, scores_, kFloat32});
    return a_.scale == 1 ? scores
                         : pointwise("mul", {scores, region_.add_number(a_.scale)}, scores_);
  }

  std::size_t without_later_keys(std::size_t scores) {
    const std::size_t row = index(scores, 2), column = index(scores, 3);
    const std::size_t seen = pointwise("cmp_ge", {row, column}, scores_, kBool);
    return pointwise("select", {scores, region_.add_number(-INFINITY), seen}, scores_);
  }

  // The least numbers of bfloat16 and float32 are no longer finite once an exponential of base two
  // has them in its exponent: a row that they hide whole would be none.
  std::size_t plus_mask(std::size_t scores, std::size_t mask) {
    const std::size_t sums = pointwise("add", {scores, mask}, scores_);
    if (a_.mask_dtype == kFloat16) return sums;
    return pointwise("max", {sums, region_.add_number(attention::kAllHide)}, scores_);
  }

  // cuDNN's engines are those that also give the logarithms of the sums: without the two operations
  // for that, whose result nobody reads, it has none.
  std::size_t softmax(std::size_t scores) {
    const std::size_t most = reduction("max", scores);
    const std::size_t powers =
        pointwise("exp", {pointwise("sub", {scores, most}, scores_)}, scores_);
    const std::size_t sums = reduction("add", powers);
    pointwise("add", {most, pointwise("log", {sums}, rows_)}, rows_);
    return pointwise("div", {powers, sums}, scores_, a_.dtype);
  }

 private:
  std::size_t index(std::size_t scores, int axis) {
    return region_.add({"pointwise",
                        {scores},
                        {{"mode", {"index"}}, {"axis", {std::to_string(axis)}}},
                        scores_,
                        kInt32});
  }
  std::size_t pointwise(const char* mode, std::vector<std::size_t> inputs, const View& view,
                        DType dtype = kFloat32) {
    return region_.add({"pointwise", std::move(inputs), {{"mode", {mode}}}, view, dtype});
  }
  std::size_t reduction(const char* mode, std::size_t of) {
    return region_.add({"reduction", {of}, {{"mode", {mode}}}, rows_, kFloat32});
  }

  const Attention& a_;
  Region& region_;
  const View scores_, rows_;
};

// ---- The plain definition

// Where the elements of the operands of the products and of the mask lie.
struct Source {
  std::size_t operand;
  std::int64_t offset;
  View view;
};
struct Sources {
  Source q, k, v;
  std::optional<Source> mask;
};

Source source_of(const Region& region, std::size_t tensor, std::size_t element_bytes) {
  if (tensor < region.operands.size()) return {tensor, 0, region.operands[tensor].view};
  const Operation& view = region.operations[tensor - region.operands.size()];
  return {view.inputs[0], offset_bytes(view) / static_cast<std::int64_t>(element_bytes), view.view};
}

// The shares of the keys for one query; of the latest one.
class Shares {
 public:
  Shares(const Attention& a, Sources sources) : a_(a), sources_(std::move(sources)) {}

  double element(const Region::Read& read, const Ints& at) {
    const Ints query(at.begin(), at.end() - 1);
    if (query != query_) set(read, query);
    double sum = 0;
    for (std::int64_t key = 0; key < a_.keys; ++key) {
      sum += shares_[static_cast<std::size_t>(key)] *
             value(read, sources_.v, {at[0], at[1], key, at[3]});
    }
    return sum;
  }

 private:
  static double value(const Region::Read& read, const Source& s, const Ints& at) {
    return read(s.operand, s.offset + place(s.view, at));
  }

  double score(const Region::Read& read, const Ints& query, std::int64_t key) const {
    if (a_.is_causal && key > query[2]) return -INFINITY;
    double sum = 0;
    for (std::int64_t i = 0; i < a_.width; ++i) {
      sum += value(read, sources_.q, {query[0], query[1], query[2], i}) *
             value(read, sources_.k, {query[0], query[1], i, key});
    }
    sum *= a_.scale;
    if (sources_.mask) sum += value(read, *sources_.mask, {query[0], query[1], query[2], key});
    return sum;
  }

  void set(const Region::Read& read, const Ints& query) {
    query_ = query;
    shares_.clear();
    double most = -INFINITY, sum = 0;
    for (std::int64_t key = 0; key < a_.keys; ++key) {
      shares_.push_back(score(read, query, key));
      most = std::max(most, shares_.back());
    }
    for (double& share : shares_) sum += share = std::exp(share - most);
    for (double& share : shares_) share /= sum;
  }

  const Attention a_;
  const Sources sources_;
  Ints query_;
  std::vector<double> shares_;
};

std::string workload_of(const Attention& a, const Region& region, const Sources& s) {
  const auto part = [](const Source& source) {
    return fmt::format("{}+{}:{}", source.operand, source.offset, text_of(source.view));
  };
  std::string text = fmt::format("attention {}{} {} by {} by {} to {} scale {}", to_string(a.dtype),
                                 region.multiplies_tf32() ? " tf32" : "", part(s.q), part(s.k),
                                 part(s.v), text_of(region.result()), a.scale);
  if (a.is_causal) text += " causal";
  if (s.mask) text += fmt::format(" mask {} {}", to_string(a.mask_dtype), part(*s.mask));
  if (region.runtime_engines) text += " runtime engines";
  return text;
}

std::string sizes_of(const Attention& a) {
  return fmt::format("{} x {} heads of {}, {} queries, {} keys{}{}", a.batch, a.heads, a.width,
                     a.queries, a.keys, a.is_causal ? ", causal" : "", a.mask ? ", masked" : "");
}

// Of operations; the texts follow.
Expected<Sources, Refusal> add_operations(const Attention& a, Region& region) {
  Tensors tensors(a, region);
  const Ints queries = {a.batch, a.heads, a.queries, a.width},
             keys = {a.batch, a.heads, a.keys, a.width};
  TESSERA_TRY(const std::size_t q, tensors.heads(a.q, view_of(a.q, queries)));
  TESSERA_TRY(const std::size_t k, tensors.heads(a.k, transposed(view_of(a.k, keys))));
  TESSERA_TRY(const std::size_t v, tensors.heads(a.v, view_of(a.v, keys)));
  const std::size_t bytes = a.dtype.size_bytes();
  Sources sources = {
      source_of(region, q, bytes), source_of(region, k, bytes), source_of(region, v, bytes), {}};
  Builder builder(a, region);
  std::size_t scores = builder.scaled_scores(q, k);
  if (a.mask) {
    TESSERA_TRY(const std::size_t mask, tensors.mask(mask_view(a)));
    sources.mask = source_of(region, mask, a.mask_dtype.size_bytes());
    scores = builder.plus_mask(scores, mask);
  }
  if (a.is_causal) scores = builder.without_later_keys(scores);
  region.add({"matmul", {builder.softmax(scores), v}, {}, view_of(a.o, queries), a.dtype});
  return sources;
}

// Constants that the composite holds are no arguments of its region.
std::optional<Refusal> check_values(const relay::Match& m, const Region& region) {
  for (const Operand& operand : region.operands) {
    const bool is_inside = std::binary_search(m.inside.begin(), m.inside.end(), operand.value);
    if (is_inside) return Refusal{"a constant in between"};
    if (auto why = check_sizes(m.function->type(operand.value))) return why;
  }
  return std::nullopt;
}

}  // namespace

Expected<Region, Refusal> describe_attention(const relay::Match& match, const Target& target) {
  for (const NodeId id : match.inside) {
    if (match.function->op(id) == nullptr) continue;
    if (auto why = check_known(match.function->type(id))) return {Unexpected<Refusal>{*why}};
  }
  TESSERA_TRY(const Attention a, attention::describe(match));
  Region region;
  region.dtype = a.dtype;
  region.tf32 = target.get_bool("tf32");
  region.runtime_engines = target.get_bool("runtime_engines");
  if (auto why = check_kind(a, region.tf32)) return {Unexpected<Refusal>{*why}};
  TESSERA_TRY(const Sources sources, add_operations(a, region));
  if (auto why = check_values(match, region)) return {Unexpected<Refusal>{*why}};
  region.sizes = sizes_of(a);
  region.workload = workload_of(a, region, sources);
  region.reference = [shares = Shares(a, sources)](const Region::Read& read,
                                                   const Ints& at) mutable {
    return shares.element(read, at);
  };
  region.scales.assign(region.operands.size(), 1);
  region.coldest = sources.k.operand;
  return region;
}

}  // namespace tessera::backends::cudnn
