// SPDX-License-Identifier: Apache-2.0
// RNN, GRU and LSTM: a loop over their steps, or the steps one after the other if there are few.
// The quantised LSTM computes on numbers that lie on a grid; its products are those of such
// numbers.
#include <functional>
#include <optional>

#include "import/activation.h"
#include "import/converters.h"
#include "import/quantization.h"

namespace tessera::import {
namespace {

// A tensor rounded to 256 numbers between its least and its greatest.
Value on_grid(Value x) {
  const Quantized q = quantize_by_range(x);
  return (q.values.cast(kFloat32) - q.zero.cast(kFloat32)) * q.scale;
}

// What the steps of a direction read. Steps in a loop have operands of their own: parameters of its
// function.
struct Operands {
  Value projected;  // x * W^T with all biases but `fresh_bias`: (time, batch, gates * hidden)
  Value recurrent;  // R: (gates * hidden, hidden), of all directions where it is known
  std::optional<Value> fresh_bias;  // of the last gate, where it is scaled with the gate's rest
  std::optional<Value> peepholes, lengths;

  template <class Visit>
  void each(Visit visit) {
    visit(projected);
    visit(recurrent);
    for (auto* given : {&fresh_bias, &peepholes, &lengths}) {
      if (*given) visit(**given);
    }
  }
};

// The states that a step leaves: the hidden one first.
using States = std::vector<Value>;

// So that generated code is faster than oneDNN on one core, by 1.1 to 2 times.
constexpr std::int64_t kFewRows = 2, kFewMultiplications = 1 << 15;

// One direction.
struct Cell {
  std::int64_t direction, hidden;
  bool is_quantized;
  std::vector<Activation> activations;
  Operands operands;

  // h * R^T of the gates [first, end): (batch, gates * hidden). Where R is known, its part is taken
  // here, in the loop: a constant there, whose layout the product may choose.
  Value from_state(Value h, std::int64_t first, std::int64_t end) const {
    const Value all = operands.recurrent;
    const Value own = all.rank() == 3 ? all.at(0, direction) : all;
    const Value x = is_quantized ? on_grid(h) : h;
    const Value w = own.slice(0, first * hidden, end * hidden);
    return is_short(x, w) ? sums(x, w) : dense(x, w);
  }
  Value gate(Value all, std::int64_t k) const { return part(all, 1, k); }
  Value part(Value all, std::int64_t axis, std::int64_t k) const {
    return all.slice(axis, k * hidden, (k + 1) * hidden);
  }
  Value activate(std::size_t i, Value x) const { return import::activate(x, activations[i]); }

  // Calling a library would take longer than the product itself, and that in each step.
  static bool is_short(Value x, Value w) {
    const auto rows = x.dim(0).as_constant();
    return rows && *rows <= kFewRows && w.node().is_known(w) &&
           *rows * w.size(0) * w.size(1) <= kFewMultiplications;
  }
  // The same in the loops of generated code, whose vectors go along the columns of the result.
  static Value sums(Value x, Value w) {
    return (x.expand_dims(2) * w.transpose({1, 0}).expand_dims(0)).sum({1}, false);
  }
  static Value dense(Value x, Value w) {
    Node& n = x.node();
    return {n, n.call("nn.dense", {x, w}, {{"units", relay::AttrValue()}})};
  }
};

struct Kind {
  std::int64_t gates;
  std::vector<std::string> activations;  // of one direction
  std::size_t states;                    // hidden, and the LSTM's cell
  bool scales_fresh_bias = false;        // the last gate's recurrent one
  bool is_quantized = false;  // what is multiplied lies on a grid: an input, and each state
  std::function<States(const Cell&, Value projected, const States&)> step = {};
};

std::int64_t hidden_size(Node& n) {
  const std::int64_t size = n.need_int_attr("hidden_size");
  // The sum of all gates' numbers fits 64 bits.
  if (size < 1 || size > INT32_MAX) {
    n.invalid(Code::kWrongAttribute, fmt::format("its hidden_size is {}", size));
  }
  return size;
}

std::vector<Activation> activations_of(Node& n, std::span<const std::string> names) {
  const auto alphas = n.floats_attr("activation_alpha"), betas = n.floats_attr("activation_beta");
  const auto given = [](const std::vector<double>& all, std::size_t i) {
    return i < all.size() ? std::optional(all[i]) : std::nullopt;
  };
  std::vector<Activation> all;
  for (std::size_t i = 0; i < names.size(); ++i) {
    all.push_back({names[i], given(alphas, i), given(betas, i)});
  }
  return all;
}

// Zeros: sizes of x from `begin` to the batch, then the hidden one.
Value zeros_of(Value x, std::int64_t begin, std::int64_t hidden) {
  Node& n = x.node();
  Shape shape = x.dims(begin, 2);
  shape.emplace_back(hidden);
  if (const auto known = constant_shape(shape)) return zeros(n, *known, x.dtype());
  const Value sizes = concat(n, {sizes_of(x, begin, 2), {n, n.ints({hidden})}}, 0);
  return {n, n.call("dyn.full", {n.scalar(0, x.dtype()), sizes}, {{"dtype", x.dtype()}})};
}

// One direction of an input, without the dimension of directions.
Value part(Node& n, std::size_t i, std::int64_t direction, std::int64_t size) {
  const Value own = input(n, i).at(0, direction);
  if (own.size(0) != size) {
    n.invalid(Code::kShapeMismatch, "its weights do not fit hidden_size");
  }
  return own;
}

// W, at 1, or R, at 2: (gates * hidden, what it is multiplied with). Quantised ones are stored the
// other way round, with scale and zero point of all or of columns at 8 and 9, 10 and 11.
Value weights(Node& n, const Kind& kind, std::size_t i, std::int64_t direction) {
  const std::int64_t width = kind.gates * hidden_size(n);
  if (!kind.is_quantized) return part(n, i, direction, width);
  const auto own = [&](std::size_t k) { return input(n, k).at(0, direction); };
  const std::size_t scale = 6 + 2 * i;
  const Value w = own(i).cast(kFloat32) - own(scale + 1).cast(kFloat32);
  if (w.rank() != 2) n.invalid(Code::kShapeMismatch, "its weights must have three dimensions");
  const Value plain = (w * own(scale)).transpose({1, 0});
  if (plain.size(0) != width) n.invalid(Code::kShapeMismatch, "its weights do not fit hidden_size");
  return plain;
}

// The product with the input is that of all steps at once.
Operands operands_of(Node& n, const Kind& kind, Value x, std::int64_t direction) {
  const std::int64_t hidden = hidden_size(n), width = kind.gates * hidden;
  const Value projected = Cell::dense(x, weights(n, kind, 1, direction));
  const Value own = weights(n, kind, 2, direction);
  if (own.rank() != 2 || own.size(1) != hidden) {
    n.invalid(Code::kShapeMismatch, "its weights do not fit hidden_size");
  }
  const bool taken_inside = !kind.is_quantized && n.is_known(n.input(2));
  Operands all{projected, taken_inside ? input(n, 2) : own, {}, {}, {}};
  if (n.has_input(3)) {
    const Value bias = part(n, 3, direction, 2 * width);
    const std::int64_t merged = kind.scales_fresh_bias ? width - hidden : width;
    Value sum = bias.slice(0, width, width + merged);
    if (merged < width) {
      sum = concat(n, {sum, zeros(n, {hidden}, bias.dtype())}, 0);
      all.fresh_bias = bias.slice(0, width + merged, 2 * width);
    }
    all.projected = projected + (bias.slice(0, 0, width) + sum);
  }
  if (n.has_input(4)) all.lengths = input(n, 4).matched(0, x, 1);
  if (n.has_input(7)) all.peepholes = part(n, 7, direction, 3 * hidden);
  return all;
}

// Step t leaves its states, and gives its hidden one. Steps after the end of a sequence leave the
// state and give zeros.
struct Stepped {
  States states;
  Value hidden;
};
Stepped step(const Kind& kind, const Cell& cell, Value projected, Value t, const States& before) {
  States next = kind.step(cell, projected, before);
  if (!cell.operands.lengths) return {next, next[0]};
  const Value lengths = *cell.operands.lengths;
  const Value alive = (lengths > t.cast(lengths.dtype())).expand_dims(1);
  const Value hidden = where(alive, next[0], next[0].number(0));
  for (std::size_t s = 0; s < next.size(); ++s) next[s] = where(alive, next[s], before[s]);
  return {next, hidden};
}

struct Direction {
  Value hidden;  // by time: (time, batch, hidden)
  States last;
};

Direction run_unrolled(const Kind& kind, const Cell& cell, States states, std::int64_t count,
                       bool backward) {
  Node& n = states[0].node();
  std::vector<Value> hidden(static_cast<std::size_t>(count), states[0]);
  for (std::int64_t k = 0; k < count; ++k) {
    const std::int64_t t = backward ? count - 1 - k : k;
    const Value place(n, n.constant(Tensor::of<std::int64_t>({}, kInt64, {t})));
    Stepped done = step(kind, cell, cell.operands.projected.at(0, t), place, states);
    hidden[static_cast<std::size_t>(t)] = done.hidden;
    states = std::move(done.states);
  }
  return {stack(n, hidden, 0), states};
}

// The hidden states by time are what an iteration hands to the next one too, with a row more.
Direction run_in_loop(const Kind& kind, Cell cell, const States& first, Value rows, bool backward) {
  Node& n = rows.node();
  const Value count = sizes_of(rows, 0, 1).squeeze(0);
  std::vector<NodeId> carried(first.begin(), first.end()), read{count};
  carried.push_back(rows);
  cell.operands.each([&](Value& v) { read.push_back(v); });
  const auto iterate = [&](NodeId iteration, std::span<const NodeId> now,
                           std::span<const NodeId> seen) {
    auto next_seen = seen.begin();
    const Value k(n, iteration), length(n, *next_seen++);
    cell.operands.each([&](Value& v) { v = Value(n, *next_seen++); });
    const Value t = backward ? length - 1.0 - k : k;
    States states;
    for (std::size_t s = 0; s < kind.states; ++s) states.emplace_back(n, now[s]);
    const Stepped done = step(kind, cell, cell.operands.projected.take(t, 0), t, states);
    std::vector<NodeId> next(done.states.begin(), done.states.end());
    next.push_back(n.call("update_row", {now.back(), done.hidden, t}));
    return next;
  };
  const std::vector<NodeId> last = n.repeat(count, carried, read, iterate);
  States states;
  for (std::size_t s = 0; s < kind.states; ++s) states.emplace_back(n, last[s]);
  return {{n, last.back()}, states};
}

// An empty sequence ends in zeros, whatever its first state: so does onnxruntime; ONNX says nothing
// of it.
States first_states(Node& n, const Kind& kind, Value x, const Cell& cell) {
  States states;
  for (std::size_t i = 5; i < 5 + kind.states; ++i) {
    if (!n.has_input(i)) {
      states.push_back(zeros_of(x, 1, cell.hidden));
      continue;
    }
    const std::int64_t directions = n.flag_attr("layout", false) ? 1 : 0;  // after the batch, then
    const Value given = input(n, i).at(directions, cell.direction).matched(0, x, 1);
    const Value r = cell.operands.recurrent;
    states.push_back(given.matched(1, r, r.rank() - 1));
    if (!cell.operands.lengths) continue;
    const Value has_steps = (*cell.operands.lengths > 0.0).expand_dims(1);
    states.back() = where(has_steps, states.back(), given.number(0));
  }
  return states;
}

// So many steps are unrolled at most. For an LSTM on a CPU, 4 steps take two thirds of the loop's
// time then, 8 steps four fifths, and 16 steps as long; the time to compile grows with the steps.
constexpr std::int64_t kUnrolledSteps = 16;

Direction run(Node& n, const Kind& kind, Value x, std::int64_t direction, bool backward,
              std::span<const std::string> names) {
  const std::int64_t hidden = hidden_size(n);
  const Cell cell{direction, hidden, kind.is_quantized, activations_of(n, names),
                  operands_of(n, kind, x, direction)};
  const States first = first_states(n, kind, x, cell);
  const auto count = n.dim(x, 0).as_constant();
  if (count && *count > 0 && *count <= kUnrolledSteps) {
    return run_unrolled(kind, cell, first, *count, backward);
  }
  const Value rows = zeros_of(x, 0, hidden);
  if (count && *count == 0) return {rows, first};
  return run_in_loop(kind, cell, first, rows, backward);
}

// The names of all directions; the kind's own where none are given.
std::vector<std::string> activation_names(Node& n, const Kind& kind, std::size_t directions) {
  std::vector<std::string> names = n.strings_attr("activations");
  if (names.empty()) {
    for (std::size_t d = 0; d < directions; ++d) {
      names.insert(names.end(), kind.activations.begin(), kind.activations.end());
    }
  }
  if (names.size() != directions * kind.activations.size()) {
    n.invalid(Code::kWrongAttribute, "it has too few or too many activations");
  }
  return names;
}

// Y (time, direction, batch, hidden) and the last states (direction, batch, hidden); with layout 1
// the batch comes first.
std::vector<NodeId> recurrent(Node& n, const Kind& kind) {
  if (n.has_attr("clip")) n.unsupported("clipping");
  for (const char* ignored : {"output_sequence", "input_forget"}) n.ignore_attr(ignored);
  const bool batch_first = n.int_attr("layout", 0) != 0;
  const std::string way = n.string_attr("direction", "forward");
  const std::size_t directions = way == "bidirectional" ? 2 : 1;
  Value x = input(n, 0);
  if (x.rank() != 3) n.invalid(Code::kShapeMismatch, "its input must have three dimensions");
  if (batch_first) x = x.transpose({1, 0, 2});
  if (kind.is_quantized) x = on_grid(x);
  const auto names = activation_names(n, kind, directions);
  const std::size_t per_direction = kind.activations.size();
  std::vector<Direction> done;
  std::vector<Value> by_direction;
  for (std::size_t d = 0; d < directions; ++d) {
    done.push_back(run(n, kind, x, static_cast<std::int64_t>(d), way == "reverse" || d == 1,
                       std::span(names).subspan(d * per_direction, per_direction)));
    by_direction.push_back(done.back().hidden);
  }
  Value y = stack(n, by_direction, 1);
  if (batch_first) y = y.transpose({2, 0, 1, 3});
  std::vector<NodeId> results = {y};
  for (std::size_t s = 0; s < kind.states; ++s) {
    std::vector<Value> last;
    for (const Direction& d : done) last.push_back(d.last[s]);
    results.push_back(stack(n, last, batch_first ? 1 : 0));
  }
  return results;
}

std::vector<NodeId> convert_rnn(Node& n) {
  const auto step = [](const Cell& c, Value from_x, const States& s) -> States {
    return {c.activate(0, from_x + c.from_state(s[0], 0, 1))};
  };
  return recurrent(n, {.gates = 1, .activations = {"Tanh"}, .states = 1, .step = step});
}

// Gates: update z, reset r, new h. The reset comes before the new gate's product with the state, or
// after it.
std::vector<NodeId> convert_gru(Node& n) {
  const bool linear_before_reset = n.flag_attr("linear_before_reset", false);
  const auto step = [=](const Cell& c, Value from_x, const States& s) -> States {
    const Value from_h = c.from_state(s[0], 0, linear_before_reset ? 3 : 2);
    const Value z = c.activate(0, c.gate(from_x, 0) + c.gate(from_h, 0));
    const Value r = c.activate(0, c.gate(from_x, 1) + c.gate(from_h, 1));
    const auto reset_after = [&] {
      const Value linear = c.gate(from_h, 2);
      const auto& bias = c.operands.fresh_bias;
      return r * (bias ? linear + *bias : linear);
    };
    const Value kept = linear_before_reset ? reset_after() : c.from_state(r * s[0], 2, 3);
    const Value fresh = c.activate(1, c.gate(from_x, 2) + kept);
    return {(1.0 - z) * fresh + z * s[0]};
  };
  return recurrent(n, {.gates = 3,
                       .activations = {"Sigmoid", "Tanh"},
                       .states = 1,
                       .scales_fresh_bias = linear_before_reset,
                       .step = step});
}

// Gates: input i, output o, forget f, cell c; peepholes in the order i, o, f.
std::vector<NodeId> lstm(Node& n, bool is_quantized) {
  if (n.int_attr("input_forget", 0) != 0) n.unsupported("input_forget");
  const auto step = [](const Cell& c, Value from_x, const States& s) -> States {
    const Value all = from_x + c.from_state(s[0], 0, 4);
    const auto gate = [&](std::int64_t k, Value cell) {
      const auto& peepholes = c.operands.peepholes;
      return peepholes ? c.gate(all, k) + c.part(*peepholes, 0, k) * cell : c.gate(all, k);
    };
    const Value i = c.activate(0, gate(0, s[1])), f = c.activate(0, gate(2, s[1]));
    const Value cell = f * s[1] + i * c.activate(1, c.gate(all, 3));
    const Value o = c.activate(0, gate(1, cell));
    return {o * c.activate(2, cell), cell};
  };
  return recurrent(n, {.gates = 4,
                       .activations = {"Sigmoid", "Tanh", "Tanh"},
                       .states = 2,
                       .is_quantized = is_quantized,
                       .step = step});
}

std::vector<NodeId> convert_lstm(Node& n) { return lstm(n, false); }

// Where sequences end early, which elements the grids are made for depends on onnxruntime's
// threads.
std::vector<NodeId> convert_dynamic_quantize_lstm(Node& n) {
  if (n.has_input(4)) n.unsupported("lengths of sequences");
  return lstm(n, true);
}

constexpr Converter kRecurrentTable[] = {
    {"RNN", 7, convert_rnn},
    {"GRU", 7, convert_gru},
    {"LSTM", 7, convert_lstm},
    {"com.microsoft.DynamicQuantizeLSTM", 1, convert_dynamic_quantize_lstm},
};

}  // namespace

extern const std::span<const Converter> recurrent_converters;
const std::span<const Converter> recurrent_converters = kRecurrentTable;

}  // namespace tessera::import
