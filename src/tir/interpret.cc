// SPDX-License-Identifier: Apache-2.0
#include "tir/interpret.h"

#include <cstring>
#include <memory>
#include <vector>

#include "support/f16.h"
#include "tir/barrier.h"
#include "tir/evaluate.h"
#include "tir/walk.h"

namespace tessera::tir {
namespace {

template <class T>
T read(const std::byte* p) {
  T v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
template <class T, class V>
void write(std::byte* p, V value) {
  const auto v = static_cast<T>(value);
  std::memcpy(p, &v, sizeof v);
}

std::int64_t read_int(const std::byte* p, DType t) {
  switch (t.bits) {
    case 8:
      return wrap_int(read<std::int8_t>(p), t);
    case 16:
      return wrap_int(read<std::int16_t>(p), t);
    case 32:
      return wrap_int(read<std::int32_t>(p), t);
    default:
      return read<std::int64_t>(p);
  }
}
double read_float(const std::byte* p, DType t) {
  if (t == kFloat64) return read<double>(p);
  if (t == kFloat32) return read<float>(p);
  const auto bits = read<std::uint16_t>(p);
  return t == kBFloat16 ? bfloat16_value(bits) : float16_value(bits);
}
void write_int(std::byte* p, DType t, std::int64_t v) {
  switch (t.bits) {
    case 8:
      return write<std::int8_t>(p, v);
    case 16:
      return write<std::int16_t>(p, v);
    case 32:
      return write<std::int32_t>(p, v);
    default:
      return write<std::int64_t>(p, v);
  }
}
void write_float(std::byte* p, DType t, double v) {
  if (t == kFloat64) return write<double>(p, v);
  if (t == kFloat32) return write<float>(p, v);
  write<std::uint16_t>(p, t == kBFloat16 ? bfloat16_bits(v) : float16_bits(v));
}

class Interpreter {
 public:
  Interpreter() {
    evaluate_.load = [this](const Buffer& b, const std::vector<std::int64_t>& indices) {
      const std::byte* p = element(b, indices);
      return b->dtype.is_float() ? float_imm(read_float(p, b->dtype), b->dtype)
                                 : int_imm(read_int(p, b->dtype), b->dtype);
    };
  }
  void set_dim(const Expr& var, std::int64_t value) {
    evaluate_.set(var, int_imm(value, var.dtype()));
  }
  void place(const Buffer& b, void* data) {
    Place p{static_cast<std::byte*>(data), {}, {}};
    for (const Expr& e : b->shape) p.shape.push_back(evaluate_.index(e));
    for (const Expr& e : strides_of(b)) p.strides.push_back(evaluate_.index(e));
    places_[b.get()] = std::move(p);
  }
  void run(const Stmt& s);

 private:
  struct Place {
    std::byte* data = nullptr;
    std::vector<std::int64_t> shape, strides;
    std::int64_t size_bytes(DType dtype) const {
      std::int64_t last = 0;  // of the element at the end
      for (std::size_t i = 0; i < shape.size(); ++i) last += (shape[i] - 1) * strides[i];
      return (last + 1) * dtype.size_bytes();
    }
  };
  std::byte* element(const Buffer& b, const std::vector<std::int64_t>& indices) {
    const auto it = places_.find(b.get());
    TESSERA_CHECK(it != places_.end(), "`{}` is used outside of its scope", b->name);
    std::int64_t offset = 0;
    for (std::size_t i = 0; i < indices.size(); ++i) {
      TESSERA_CHECK(indices[i] >= 0 && indices[i] < it->second.shape[i],
                    "index {} of dimension {} of `{}` is outside of [0, {})", indices[i], i,
                    b->name, it->second.shape[i]);
      offset += indices[i] * it->second.strides[i];
    }
    return it->second.data + offset * b->dtype.size_bytes();
  }
  void store(const Store& s) {
    for (int lane = 0; lane < s.value.dtype().lanes; ++lane) {
      const Expr v = evaluate_.value(s.value, lane);
      std::vector<std::int64_t> indices;
      for (const Expr& i : s.indices) indices.push_back(evaluate_.index(i, lane));
      std::byte* p = element(s.buffer, indices);
      if (const auto* f = v.as<FloatImm>()) {
        write_float(p, s.buffer->dtype, f->value);
      } else {
        write_int(p, s.buffer->dtype, *as_int(v));
      }
    }
  }
  void run_loop(const For& n) {
    const std::int64_t min = evaluate_.index(n.min), extent = evaluate_.index(n.extent);
    for (std::int64_t i = 0; i < extent; ++i) {
      evaluate_.set(n.var, int_imm(min + i, n.var.dtype()));
      run(n.body);
    }
  }
  void allocate(const Allocate& n) {
    place(n.buffer, nullptr);
    const auto bytes = static_cast<std::size_t>(
        std::max<std::int64_t>(0, places_[n.buffer.get()].size_bytes(n.buffer->dtype)));
    // Filled with a pattern, so that reading what was not stored shows.
    std::vector<std::byte> memory(bytes, std::byte{0x7f});
    places_[n.buffer.get()].data = memory.data();
    run(n.body);
    places_.erase(n.buffer.get());
  }

  Evaluator evaluate_;
  std::unordered_map<const BufferNode*, Place> places_;
};

void Interpreter::run(const Stmt& s) {
  visit(
      s, [&](const Store& n) { store(n); }, [&](const For& n) { run_loop(n); },
      [&](const While& n) {
        while (evaluate_.condition(n.condition)) run(n.body);
      },
      [&](const IfThenElse& n) {
        if (evaluate_.condition(n.condition)) {
          run(n.then_case);
        } else if (n.else_case) {
          run(n.else_case);
        }
      },
      [&](const LetStmt& n) {
        evaluate_.set(n.var, evaluate_.value(n.value));
        run(n.body);
      },
      [&](const Allocate& n) { allocate(n); },
      [&](const AllocateConst& n) {
        const auto* data = std::get_if<Tensor>(&n.data);
        TESSERA_CHECK(data != nullptr, "`{}` is in the pool, which is not here", n.buffer->name);
        place(n.buffer, const_cast<std::byte*>(data->blob->bytes().data()));
        run(n.body);
      },
      [&](const View& n) {
        const auto it = places_.find(n.source.get());
        TESSERA_CHECK(it != places_.end(), "`{}` is used outside of its scope", n.source->name);
        place(n.buffer, it->second.data + std::max<std::int64_t>(n.buffer->offset_bytes, 0));
        run(n.body);
      },
      [&](const CallKernel& n) { TESSERA_UNREACHABLE("a kernel calls `{}`", n.symbol); },
      [&](const Require& n) { TESSERA_CHECK(evaluate_.condition(n.condition), "{}", n.sentence); },
      [&](const Reserve& n) { TESSERA_UNREACHABLE("a kernel reserves `{}`", n.buffer->name); },
      [&](const Evaluate& n) {
        if (!is_barrier(s)) evaluate_.value(n.value);  // threads run one after the other
      },
      [&](const Seq& n) {
        for (const Stmt& part : n.body) run(part);
      });
}

}  // namespace

void interpret(const PrimFunc& f, std::span<void* const> buffers,
               std::span<const std::int64_t> dims) {
  TESSERA_CHECK(
      buffers.size() == f.inputs.size() + f.outputs.size() && dims.size() == f.dims.size(),
      "{} buffers and {} dims are no match", buffers.size(), dims.size());
  Interpreter interpreter;
  for (std::size_t i = 0; i < dims.size(); ++i) interpreter.set_dim(f.dims[i], dims[i]);
  std::size_t next = 0;
  for (const Buffer& b : f.inputs) interpreter.place(b, buffers[next++]);
  for (const Buffer& b : f.outputs) interpreter.place(b, buffers[next++]);
  interpreter.run(f.body);
}

}  // namespace tessera::tir
