// SPDX-License-Identifier: Apache-2.0
// Einsum, as sums and matrix products.
#include <algorithm>

#include "import/converters.h"
#include "import/value.h"
#include "ops/inference/infer.h"

namespace tessera::import {
namespace {

// A factor whose dimensions have one-letter names.
struct Labelled {
  Value x;
  std::string labels;
};

// Dimensions of "..." get the labels '0', '1', ..., the last dimension the highest below `dots`.
std::string expand_dots(const std::string& term, std::int64_t rank, std::int64_t dots) {
  const std::size_t at = term.find("...");
  if (at == std::string::npos) return term;
  const std::int64_t own = rank - static_cast<std::int64_t>(term.size() - 3);
  std::string labels;
  for (std::int64_t i = std::max<std::int64_t>(0, dots - own); i < dots; ++i) {
    labels += static_cast<char>('0' + i);
  }
  return term.substr(0, at) + labels + term.substr(at + 3);
}

// A label twice in one factor: its diagonal.
Labelled without_repeats(Labelled f) {
  for (std::size_t i = 0; i < f.labels.size(); ++i) {
    const std::size_t j = f.labels.find(f.labels[i], i + 1);
    if (j == std::string::npos) continue;
    Node& n = f.x.node();
    f.x = f.x.matched(static_cast<std::int64_t>(j), f.x, static_cast<std::int64_t>(i));
    const std::int64_t size = f.x.size(static_cast<std::int64_t>(i));
    Ints axes = range(0, f.x.rank());
    axes.erase(axes.begin() + static_cast<std::ptrdiff_t>(j));
    axes.erase(axes.begin() + static_cast<std::ptrdiff_t>(i));
    axes.insert(axes.begin(), {static_cast<std::int64_t>(i), static_cast<std::int64_t>(j)});
    Ints merged = f.x.transpose(axes).sizes();
    merged.erase(merged.begin());
    merged[0] *= size;
    const Value steps = iota(n, size) * static_cast<double>(size + 1);
    const char label = f.labels[i];
    std::erase(f.labels, label);
    f.labels.insert(f.labels.begin(), label);
    return without_repeats({f.x.transpose(axes).reshape(merged).take(steps, 0), f.labels});
  }
  return f;
}

// The factor with the dimensions `labels` in this order; one that it lacks has size 1.
Value arranged(const Labelled& f, const std::string& labels) {
  Ints axes, shape;
  for (const char label : labels) {
    const std::size_t at = f.labels.find(label);
    if (at != std::string::npos) axes.push_back(static_cast<std::int64_t>(at));
    shape.push_back(at == std::string::npos ? 1 : f.x.size(static_cast<std::int64_t>(at)));
  }
  return f.x.transpose(axes).reshape(shape);
}

// Labels that nobody needs any more are summed at once.
Labelled reduced(Labelled f, const std::string& needed) {
  Ints axes;
  std::string kept;
  for (std::size_t i = 0; i < f.labels.size(); ++i) {
    const bool keep = needed.find(f.labels[i]) != std::string::npos;
    if (keep) kept += f.labels[i];
    if (!keep) axes.push_back(static_cast<std::int64_t>(i));
  }
  return axes.empty() ? f : Labelled{f.x.sum(axes, false), kept};
}

// Two factors as one batched matrix product: labels of both and of the result are batches, labels
// of both only are summed.
Labelled multiply(const Labelled& a, const Labelled& b, const std::string& needed) {
  std::string batch, rows, columns, inner;
  for (const char l : a.labels) {
    const bool in_b = b.labels.find(l) != std::string::npos;
    const bool out = needed.find(l) != std::string::npos;
    (in_b ? (out ? batch : inner) : rows) += l;
  }
  for (const char l : b.labels) {
    if (a.labels.find(l) == std::string::npos) columns += l;
  }
  const Value left = arranged(a, batch + rows + inner),
              right = arranged(b, batch + inner + columns);
  const Ints ls = left.sizes(), rs = right.sizes();
  const std::size_t nb = batch.size(), nr = rows.size(), ni = inner.size();
  const std::int64_t m = product(ls, nb, nb + nr), k = product(ls, nb + nr, ls.size());
  const std::int64_t width = product(rs, nb + ni, rs.size());
  Ints left_shape(ls.begin(), ls.begin() + static_cast<std::ptrdiff_t>(nb)), shape;
  Ints right_shape(rs.begin(), rs.begin() + static_cast<std::ptrdiff_t>(nb));
  for (std::size_t i = 0; i < nb; ++i) shape.push_back(std::max(ls[i], rs[i]));
  shape.insert(shape.end(), ls.begin() + static_cast<std::ptrdiff_t>(nb),
               ls.begin() + static_cast<std::ptrdiff_t>(nb + nr));
  shape.insert(shape.end(), rs.begin() + static_cast<std::ptrdiff_t>(nb + ni), rs.end());
  left_shape.insert(left_shape.end(), {m, k});
  right_shape.insert(right_shape.end(), {k, width});
  return {left.reshape(left_shape).matmul(right.reshape(right_shape)).reshape(shape),
          batch + rows + columns};
}

struct Equation {
  std::vector<std::string> terms;
  std::string result;
};

// "ij, jk -> ik"; without an arrow the result has the labels that occur once, in order.
Equation read_equation(Node& n) {
  std::string text = n.string_attr("equation", "");
  std::erase(text, ' ');
  const std::size_t arrow = text.find("->");
  const std::string left = text.substr(0, arrow);
  Equation e;
  for (std::size_t begin = 0; begin <= left.size();) {
    const std::size_t end = std::min(left.find(',', begin), left.size());
    e.terms.push_back(left.substr(begin, end - begin));
    begin = end + 1;
  }
  // A term has a label a dimension, three dots, a comma.
  const auto most = n.num_inputs() * static_cast<std::size_t>(kMostDimensions + 4);
  if (text.size() > most + static_cast<std::size_t>(kMostDimensions + 4)) {
    n.invalid(Code::kWrongAttribute, "its equation is longer than its inputs have dimensions");
  }
  if (e.terms.size() != n.num_inputs()) {
    n.invalid(Code::kWrongAttribute, "its equation has not one term an input");
  }
  if (arrow != std::string::npos) {
    e.result = text.substr(arrow + 2);
    for (const char l : e.result) {
      if (left.find(l) == std::string::npos) {
        n.invalid(Code::kWrongAttribute,
                  fmt::format("its result has the label `{}`, which no input has", l));
      }
    }
    return e;
  }
  if (left.find("...") != std::string::npos) e.result = "...";
  std::string sorted = left;
  std::sort(sorted.begin(), sorted.end());
  for (const char l : sorted) {
    if (std::isalpha(static_cast<unsigned char>(l)) != 0 &&
        std::count(sorted.begin(), sorted.end(), l) == 1) {
      e.result += l;
    }
  }
  return e;
}

std::vector<NodeId> convert_einsum(Node& n) {
  const Equation e = read_equation(n);
  std::int64_t dots = 0;
  for (std::size_t i = 0; i < e.terms.size(); ++i) {
    if (e.terms[i].find("...") == std::string::npos) continue;
    dots = std::max(dots, n.rank(n.input(i)) - static_cast<std::int64_t>(e.terms[i].size() - 3));
  }
  if (dots > 10) n.unsupported("`...` for more than ten dimensions");
  std::vector<Labelled> factors;
  for (std::size_t i = 0; i < e.terms.size(); ++i) {
    const Value x = input(n, i);
    const std::string labels = expand_dots(e.terms[i], x.rank(), dots);
    if (static_cast<std::int64_t>(labels.size()) != x.rank()) {
      n.invalid(Code::kShapeMismatch, fmt::format("term `{}` does not fit its input", e.terms[i]));
    }
    factors.push_back(without_repeats({x, labels}));
  }
  const std::string result = expand_dots(e.result,
                                         dots + static_cast<std::int64_t>(e.result.size()) -
                                             (e.result.find("...") == std::string::npos ? 0 : 3),
                                         dots);
  const auto needed_from = [&](std::size_t first) {
    std::string needed = result;
    for (std::size_t i = first; i < factors.size(); ++i) needed += factors[i].labels;
    return needed;
  };
  Labelled product = reduced(factors[0], needed_from(1));
  for (std::size_t i = 1; i < factors.size(); ++i) {
    const std::string after = needed_from(i + 1);
    const Labelled next = reduced(factors[i], after + product.labels);
    product = multiply(reduced(product, after + next.labels), next, after);
  }
  return {arranged(reduced(product, result), result)};
}

constexpr Converter kEinsumTable[] = {{"Einsum", 12, convert_einsum}};

}  // namespace

extern const std::span<const Converter> einsum_converters;
const std::span<const Converter> einsum_converters = kEinsumTable;

}  // namespace tessera::import
