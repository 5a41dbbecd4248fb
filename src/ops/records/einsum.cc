// SPDX-License-Identifier: Apache-2.0
#include "ops/attrs/einsum.h"

#include <algorithm>
#include <cctype>
#include <map>

#include "ops/evaluation/evaluate.h"
#include "ops/records/definition.h"
#include "ops/records/elementwise.h"
#include "ops/records/record.h"

namespace tessera::ops {
namespace {

// One label a dimension. `...` becomes digits, counted from the back so that they broadcast.
struct Equation {
  std::vector<std::string> operands;
  std::string result;
  std::string summed;  // labels that only operands have
};

std::string expanded(std::string_view term, std::size_t rank) {
  const std::size_t dots = term.find("...");
  if (dots == term.npos) return std::string(term);
  std::string out(term.substr(0, dots));
  for (std::size_t k = rank - (term.size() - 3); k-- > 0;) out += static_cast<char>('0' + k);
  return out + std::string(term.substr(dots + 3));
}

// Nothing where the text and the ranks do not fit.
std::optional<Equation> parse_equation(std::string text, const std::vector<std::size_t>& ranks) {
  text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
  const std::size_t arrow = text.find("->");
  std::string left = text.substr(0, arrow) + ",";
  Equation e;
  for (std::size_t comma; (comma = left.find(',')) != left.npos; left.erase(0, comma + 1)) {
    const std::string term = left.substr(0, comma);
    const std::size_t k = e.operands.size();
    const bool has_dots = term.find("...") != term.npos;
    if (k >= ranks.size() || (has_dots ? ranks[k] + 3 < term.size() : ranks[k] != term.size())) {
      return std::nullopt;
    }
    if (has_dots && ranks[k] + 3 - term.size() > 10) return std::nullopt;
    e.operands.push_back(expanded(term, ranks[k]));
  }
  std::map<char, int>
      uses;  // sorted: the implicit result is alphabetical, digits reversed and first
  std::string dots;
  for (const std::string& term : e.operands) {
    for (char c : term) {
      if (std::isalnum(static_cast<unsigned char>(c)) == 0) return std::nullopt;
      if (++uses[c] == 1 && std::isdigit(static_cast<unsigned char>(c)) != 0)
        dots.insert(dots.begin(), c);
    }
  }
  std::sort(dots.rbegin(), dots.rend());
  if (arrow != text.npos) {
    const std::string wanted = text.substr(arrow + 2);
    e.result = expanded(wanted, wanted.size() - 3 + dots.size());
  } else {
    e.result = dots;
    for (auto [c, n] : uses) {
      if (n == 1 && std::isalpha(c) != 0) e.result += c;
    }
  }
  for (char c : e.result) {
    const bool once = std::count(e.result.begin(), e.result.end(), c) == 1;
    if (!once || !uses.contains(c)) return std::nullopt;
  }
  for (auto [c, n] : uses) {
    if (e.result.find(c) == e.result.npos) e.summed += c;
  }
  if (e.operands.size() != ranks.size()) return std::nullopt;
  return e;
}

Result<Type> infer_einsum(const InferArgs& args) {
  if (!args.operands[0].is_tuple() || args.operands[0].fields().empty()) {
    return refuse(args, Code::kTypeMismatch, "needs a tuple of tensors, found {}",
                  to_string(args.operands[0]));
  }
  const std::vector<Type>& fields = args.operands[0].fields();
  std::vector<std::size_t> ranks;
  for (const Type& t : fields) {
    if (!t.is_tensor() || t.dtype() != fields[0].dtype()) {
      return refuse(args, Code::kDtypeMismatch, "operand types differ: {} vs {}",
                    to_string(fields[0]), to_string(t));
    }
    ranks.push_back(t.rank());
  }
  const std::string text = relay::read_attrs<EinsumAttrs>(args.attrs).equation;
  const auto e = parse_equation(text, ranks);
  if (!e) {
    return refuse(args, Code::kWrongAttribute,
                  "has equation \"{}\", which does not fit operands {}", text,
                  to_string(args.operands[0]));
  }
  std::map<char, Dim> sizes;
  for (std::size_t k = 0; k < fields.size(); ++k) {
    for (std::size_t d = 0; d < ranks[k]; ++d) {
      const auto [it, is_new] = sizes.try_emplace(e->operands[k][d], fields[k].shape()[d]);
      if (is_new) continue;
      // Loops take a size that is not known to be 1 for that of the others.
      const Dim &known = it->second, &other = fields[k].shape()[d];
      if (other == Dim(1)) continue;
      if (known == Dim(1)) {
        it->second = other;
        continue;
      }
      TESSERA_TRY(it->second,
                  agreed(args, known, other,
                         fmt::format("sizes of `{}` in \"{}\"", e->operands[k][d], text)));
    }
  }
  Shape shape;
  for (char c : e->result) shape.push_back(sizes.at(c));
  return tensor_type(std::move(shape), fields[0].dtype());
}

template <class S>
Equation equation_of(const relay::Attrs& attrs, const S& operands) {
  std::vector<std::size_t> ranks;
  for (const auto& t : operands) {
    if constexpr (requires { t.rank(); }) {
      ranks.push_back(t.rank());
    } else {
      ranks.push_back(t.shape.size());
    }
  }
  return *parse_equation(relay::read_attrs<EinsumAttrs>(attrs).equation, ranks);
}

std::vector<Tensor> eval_einsum(const EvalArgs& args) {
  const Equation e = equation_of(args.attrs, args.operands);
  const std::string labels = e.result + e.summed;
  Ints sizes(labels.size(), 1);
  std::vector<Ints> strides(args.operands.size(), Ints(labels.size(), 0));
  for (std::size_t k = 0; k < args.operands.size(); ++k) {
    const Ints dense = row_major_strides(args.operands[k].shape);
    for (std::size_t d = 0; d < dense.size(); ++d) {
      const std::size_t label = labels.find(e.operands[k][d]);
      if (args.operands[k].shape[d] == 1) continue;
      sizes[label] = args.operands[k].shape[d];
      strides[k][label] += dense[d];
    }
  }
  const Ints out_strides = row_major_strides(static_shape(args.result));
  return in_domain(args.result.dtype(), [&]<class T>(T) -> std::vector<Tensor> {
    std::vector<Elements<T>> x;
    for (const Tensor& t : args.operands) x.push_back(values_of<T>(t));
    Elements<T> out(count_of(static_shape(args.result)));
    for (Counter c(sizes); c; ++c) {
      T product = 1;
      for (std::size_t k = 0; k < x.size(); ++k) {
        product = wrapping_multiply(product, x[k][c.offset(strides[k])]);
      }
      std::int64_t at = 0;
      for (std::size_t d = 0; d < out_strides.size(); ++d) at += c[d] * out_strides[d];
      out[at] = wrapping_add(out[at], product);
    }
    return {tensor_of(args.result, out)};
  });
}

Definitions compute_einsum(const ComputeArgs& args) {
  const Equation e = equation_of(args.attrs, args.operands);
  const DType dtype = result_dtype(args), wide = accumulator(dtype);
  std::vector<IterAxis> axes;
  for (char c : e.summed) {
    Expr extent = 1;
    for (std::size_t k = 0; k < args.operands.size(); ++k) {
      const std::size_t d = e.operands[k].find(c);
      if (d == std::string::npos) continue;
      const Expr size = args.operands[k].shape()[d];
      if (!tir::is_int(size, 1)) extent = size;
    }
    axes.push_back(tir::reduce_axis(extent, std::string(1, c)));
  }
  const TensorExpr y = tir::compute(
      "einsum", result_shape(args),
      [&](const Indices& i) {
        Expr product;
        for (std::size_t k = 0; k < args.operands.size(); ++k) {
          Indices at;
          for (std::size_t d = 0; d < e.operands[k].size(); ++d) {
            const std::size_t out = e.result.find(e.operands[k][d]);
            const bool is_one = tir::is_int(args.operands[k].shape()[d], 1);
            at.push_back(is_one                     ? Expr(0)
                         : out != std::string::npos ? i[out]
                                                    : axes[e.summed.find(e.operands[k][d])].var);
          }
          const Expr factor = tir::cast(args.operands[k](at), wide);
          product = product ? product * factor : factor;
        }
        return axes.empty() ? product : tir::sum(axes, product);
      },
      axes.empty() ? "" : "einsum");
  return {converted(y, dtype)};
}

}  // namespace

constexpr Operator kEinsum{
    .name = "einsum",
    .doc =
        "y[result labels] = sum over the other labels of the product of the operands, in "
        "Einstein's notation: "
        "\"ij,jk->ik\"; `...` broadcasts   data: (T[...], ...) -> T[result labels]",
    .operands = {"data"},
    .takes_tuples = true,
    .attrs = relay::attr_schema<EinsumAttrs>,
    .pattern = OpPattern::kOutFusable,
    .infer = infer_einsum,
    .eval = eval_einsum,
    .compute = compute_einsum,
    .flops =
        [](const CostArgs& args) {
          const std::vector<Type>& fields = args.operands[0].fields();
          const Equation e = equation_of(args.attrs, fields);
          std::map<char, double> sizes;
          for (std::size_t k = 0; k < fields.size(); ++k) {
            for (std::size_t d = 0; d < fields[k].rank(); ++d) {
              double& size = sizes.try_emplace(e.operands[k][d], 1).first->second;
              const auto known = fields[k].shape()[d].as_constant();
              size = std::max(size, static_cast<double>(known.value_or(1)));
            }
          }
          auto total = static_cast<double>(fields.size());
          for (const auto& [label, size] : sizes) total *= size;
          return total;
        },
    .samples = {"einsum((float32[3,4], float32[4,5]), equation=\"ij,jk->ik\")",
                "einsum((float32[5,3,3]), equation=\"...ii ->...i\")",
                "einsum((float16[2,3,4], float16[2,4,2]), equation=\"bij, bjk -> bik\")",
                "einsum((float32[3,4]), equation=\"ij->i\")",
                "einsum((float32[5], float32[5]), equation=\"i,i\")",
                "einsum((int32[2,3], int32[1,3]), equation=\"...a,...a->...\")",
                "einsum((float32[3,4]), equation=\"ij->ji\")"},
};

}  // namespace tessera::ops
