// SPDX-License-Identifier: Apache-2.0
// RNN, GRU and LSTM, unrolled over their steps: a sequence's length is part of its shape. The
// quantised LSTM computes on numbers that lie on a grid; its products are those of such numbers.
#include <functional>

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

// The attributes and inputs of one direction, with the gates' numbers: 1, 3 or 4.
class Cell {
 public:
  Cell(Node& n, std::int64_t direction, std::int64_t gates, const std::vector<std::string>& names,
       bool is_quantized)
      : n_(n),
        direction_(direction),
        hidden_(hidden_size(n)),
        is_quantized_(is_quantized),
        w_(is_quantized ? dequantized(1, 8) : part(1)),
        r_(is_quantized ? dequantized(2, 10) : part(2)),
        // The sum of both biases, and the recurrent one alone, which GRU needs.
        bias_(n.has_input(3) ? part(3) : zeros(n, {2 * gates * hidden_}, w_.dtype())),
        gates_(gates) {
    if (w_.size(0) != gates * hidden_ || r_.size(0) != gates * hidden_) {
      n.invalid(Code::kShapeMismatch, "its weights do not fit hidden_size");
    }
    const auto alphas = n.floats_attr("activation_alpha"), betas = n.floats_attr("activation_beta");
    const auto given = [](const std::vector<double>& all, std::size_t i) {
      return i < all.size() ? std::optional(all[i]) : std::nullopt;
    };
    for (std::size_t i = 0; i < names.size(); ++i) {
      activations_.push_back({names[i], given(alphas, i), given(betas, i)});
    }
  }

  std::int64_t hidden() const { return hidden_; }
  // One direction of an input, without the dimension of directions.
  Value part(std::size_t i) const { return input(n_, i).at(0, direction_); }
  Value state(std::size_t i, std::int64_t batch) const {
    return n_.has_input(i) ? part(i) : zeros(n_, {batch, hidden_}, w_.dtype());
  }
  // x * W^T (+ bias) for all gates: (batch, gates * hidden).
  Value from_input(Value x) const { return dense(x, w_) + bias_.slice(0, 0, gates_ * hidden_); }
  Value from_state(Value h) const {
    return dense(is_quantized_ ? on_grid(h) : h, r_) + recurrent_bias();
  }
  Value recurrent_bias() const { return bias_.slice(0, gates_ * hidden_, 2 * gates_ * hidden_); }
  Value gate(Value all, std::int64_t k) const {
    return all.slice(1, k * hidden_, (k + 1) * hidden_);
  }
  // The state's part of one gate alone.
  Value gate_from_state(Value h, std::int64_t k) const {
    return dense(h, r_.slice(0, k * hidden_, (k + 1) * hidden_)) +
           recurrent_bias().slice(0, k * hidden_, (k + 1) * hidden_);
  }
  Value activate(std::size_t i, Value x) const { return import::activate(x, activations_[i]); }

 private:
  static std::int64_t hidden_size(Node& n) {
    const std::int64_t size = n.need_int_attr("hidden_size");
    // The sum of all gates' numbers fits 64 bits.
    if (size < 1 || size > INT32_MAX) {
      n.invalid(Code::kWrongAttribute, fmt::format("its hidden_size is {}", size));
    }
    return size;
  }
  // Weights, which are stored the other way round, with scale and zero point of all or of columns.
  Value dequantized(std::size_t i, std::size_t scale) const {
    const Value w = part(i).cast(kFloat32) - part(scale + 1).cast(kFloat32);
    if (w.rank() != 2) n_.invalid(Code::kShapeMismatch, "its weights must have three dimensions");
    return (w * part(scale)).transpose({1, 0});
  }
  Value dense(Value x, Value w) const {
    return {n_, n_.call("nn.dense", {x, w}, {{"units", relay::AttrValue()}})};
  }

  Node& n_;
  std::int64_t direction_, hidden_;
  bool is_quantized_;
  Value w_, r_, bias_;
  std::int64_t gates_;
  std::vector<Activation> activations_;
};

// The states that a step leaves: the hidden one first.
using States = std::vector<Value>;
using Step = std::function<States(const Cell&, Value x, const States&)>;

struct Kind {
  std::int64_t gates;
  std::vector<std::string> activations;  // of one direction
  std::size_t states;                    // hidden, and the LSTM's cell
  Step step;
  bool is_quantized = false;  // what is multiplied lies on a grid: an input, and each state
};

struct Direction {
  std::vector<Value> hidden;  // by time
  States last;
};

// Steps after the end of a sequence leave its state and give zeros.
Direction run(Node& n, const Cell& cell, const Kind& kind, const std::vector<Value>& steps,
              bool backward) {
  const std::int64_t batch = steps[0].size(0);
  States state;
  for (std::size_t s = 0; s < kind.states; ++s) state.push_back(cell.state(5 + s, batch));
  Direction out{std::vector<Value>(steps.size(), state[0]), {}};
  for (std::size_t k = 0; k < steps.size(); ++k) {
    const std::size_t t = backward ? steps.size() - 1 - k : k;
    States next = kind.step(cell, steps[t], state);
    out.hidden[t] = next[0];
    if (n.has_input(4)) {
      const Value alive = (input(n, 4) > static_cast<double>(t)).reshape({batch, 1});
      out.hidden[t] = where(alive, next[0], next[0].number(0));
      for (std::size_t s = 0; s < next.size(); ++s) next[s] = where(alive, next[s], state[s]);
    }
    state = std::move(next);
  }
  out.last = std::move(state);
  return out;
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
  std::vector<Value> steps;
  for (std::int64_t t = 0, count = x.size(0); t < count; ++t) steps.push_back(x.at(0, t));
  if (steps.empty()) n.unsupported("a sequence without steps");
  const auto names = activation_names(n, kind, directions);
  std::vector<Direction> done;
  for (std::size_t d = 0; d < directions; ++d) {
    const auto first = names.begin() + static_cast<std::ptrdiff_t>(d * kind.activations.size());
    const Cell cell(n, static_cast<std::int64_t>(d), kind.gates,
                    {first, first + static_cast<std::ptrdiff_t>(kind.activations.size())},
                    kind.is_quantized);
    done.push_back(run(n, cell, kind, steps, way == "reverse" || d == 1));
  }
  std::vector<Value> by_direction;
  for (const Direction& d : done) by_direction.push_back(stack(n, d.hidden, 0));
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
  return recurrent(n, {1, {"Tanh"}, 1, [](const Cell& c, Value x, const States& s) -> States {
                         return {c.activate(0, c.from_input(x) + c.from_state(s[0]))};
                       }});
}

// Gates: update z, reset r, new h.
std::vector<NodeId> convert_gru(Node& n) {
  const bool linear_before_reset = n.flag_attr("linear_before_reset", false);
  const Step step = [=](const Cell& c, Value x, const States& s) -> States {
    const Value from_x = c.from_input(x), from_h = c.from_state(s[0]);
    const Value z = c.activate(0, c.gate(from_x, 0) + c.gate(from_h, 0));
    const Value r = c.activate(0, c.gate(from_x, 1) + c.gate(from_h, 1));
    const Value kept = linear_before_reset ? r * c.gate(from_h, 2) : c.gate_from_state(r * s[0], 2);
    const Value fresh = c.activate(1, c.gate(from_x, 2) + kept);
    return {(1.0 - z) * fresh + z * s[0]};
  };
  return recurrent(n, {3, {"Sigmoid", "Tanh"}, 1, step});
}

// Gates: input i, output o, forget f, cell c; peepholes in the order i, o, f.
std::vector<NodeId> lstm(Node& n, bool is_quantized) {
  if (n.int_attr("input_forget", 0) != 0) n.unsupported("input_forget");
  const bool peepholes = n.has_input(7);
  const Step step = [=](const Cell& c, Value x, const States& s) -> States {
    const Value all = c.from_input(x) + c.from_state(s[0]);
    const auto gate = [&](std::int64_t k, std::int64_t peephole, Value cell) {
      const Value g = c.gate(all, k);
      if (!peepholes) return g;
      return g + c.part(7).slice(0, peephole * c.hidden(), (peephole + 1) * c.hidden()) * cell;
    };
    const Value i = c.activate(0, gate(0, 0, s[1])), f = c.activate(0, gate(2, 2, s[1]));
    const Value cell = f * s[1] + i * c.activate(1, c.gate(all, 3));
    const Value o = c.activate(0, gate(1, 1, cell));
    return {o * c.activate(2, cell), cell};
  };
  return recurrent(n, {4, {"Sigmoid", "Tanh", "Tanh"}, 2, step, is_quantized});
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
