// SPDX-License-Identifier: Apache-2.0
#include "runtime/overlap.h"

#include <algorithm>
#include <cinttypes>

#include "runtime/arguments.h"
#include "runtime/device_run.h"
#include "runtime/outputs.h"
#include "runtime/places.h"

namespace tessera::runtime {
namespace {

Range range_of(const void* begin, std::uint64_t bytes) {
  const auto address = reinterpret_cast<std::uintptr_t>(begin);
  return {address, begin == nullptr ? 0 : std::min<std::uint64_t>(bytes, UINTPTR_MAX - address)};
}
Range range_of(const Block& block) { return range_of(block.data, block.bytes); }
Range range_of(const tessera_tensor& t, std::uint64_t bytes) {
  return t.data == nullptr ? Range{} : range_of(static_cast<char*>(t.data) + t.byte_offset, bytes);
}
Range range_of(const tessera_tensor& t) {
  return range_of(t, compact_bytes(t.dtype, t.ndim, t.shape));
}

bool meet(const Range& a, const Range& b) {
  return a.begin < b.begin + b.bytes && b.begin < a.begin + a.bytes && a.bytes > 0 && b.bytes > 0;
}

bool may_share(const tessera_program& program, std::int32_t output, std::int32_t input) {
  if (program.shared_begins == nullptr) return false;
  const std::int32_t* begins = program.shared_begins + output;
  const std::int32_t* end = program.shared_inputs + begins[1];
  return std::find(program.shared_inputs + begins[0], end, input) != end;
}

// Compares all pieces of memory of one run: the inputs, then two an output. An output has one in
// the caller's memory, or those that the instance has for it; on a device results may come to the
// second by way of the first.
class OverlapCheck {
 public:
  explicit OverlapCheck(tessera_instance& instance)
      : instance_(instance), program_(*instance.model->program) {}

  // Are they other ones than those of the run before?
  bool collect(const tessera_tensor* inputs, const tessera_tensor* outputs,
               const std::int64_t* shape) {
    bool is_new = !instance_.ranges_are_apart;
    const auto keep = [&](Range* at, const Range& range) {
      is_new |= at->begin != range.begin || at->bytes != range.bytes;
      *at = range;
    };
    for (std::int32_t k = 0; k < program_.input_count; ++k) {
      const bool is_placed = is_at(inputs[k], address_of(instance_, place_of_input(program_, k)));
      keep(of_input(k), is_placed ? Range{} : range_of(inputs[k]));
    }
    for (std::int32_t i = 0; i < program_.output_count; shape += program_.outputs[i].ndim, ++i) {
      Range at[2] = {};
      places_of(i, outputs[i], shape, at);
      for (int piece = 0; piece < 2; ++piece) keep(of_output(i) + piece, at[piece]);
    }
    return is_new;
  }

  std::int32_t check() const {
    for (std::int32_t k = 0; k < program_.input_count; ++k) {
      if (std::int32_t status = check_pools("input", program_.inputs[k].name, *of_input(k))) {
        return status;
      }
    }
    for (std::int32_t i = 0; i < program_.output_count; ++i) {
      for (int piece = 0; piece < 2; ++piece) {
        if (std::int32_t status = check_output(i, of_output(i)[piece])) return status;
      }
    }
    return TESSERA_OK;
  }

 private:
  Range* of_input(std::int32_t k) const { return instance_.ranges.data() + k; }
  Range* of_output(std::int32_t i) const { return of_input(program_.input_count) + 2 * i; }

  void places_of(std::int32_t i, const tessera_tensor& given, const std::int64_t* shape,
                 Range* at) const {
    const tessera_program_io& io = program_.outputs[i];
    const bool known = !depends_on_data(io, shape);
    const std::uint64_t bytes = known ? compact_bytes(io.dtype, io.ndim, shape) : 0;
    if (!is_own_output(instance_, i, given)) {
      at[0] = known ? range_of(given, bytes) : range_of(given);
      return;
    }
    if (place_of_output(program_, i).bytes > 0) return;  // by the plan
    // One that is too small for the result is going to be replaced.
    const auto used = [&](const Block& own) {
      return range_of(own.data, known ? std::min(bytes, own.bytes) : own.bytes);
    };
    at[0] = used(instance_.own_outputs[i]);
    if (instance_.work.outputs.size() > 0) at[1] = used(instance_.work.outputs[i]);
  }

  std::int32_t check_output(std::int32_t i, const Range& at) const {
    if (at.bytes == 0) return TESSERA_OK;
    const char* const name = program_.outputs[i].name;
    for (std::int32_t k = 0; k < program_.input_count; ++k) {
      if (!meet(at, *of_input(k))) continue;
      if (std::int32_t status = check_shared(i, at, k)) return status;
    }
    for (std::int32_t w = 0; w < program_.kept_weight_count; ++w) {
      if (!meet(at, range_of(instance_.weights[w]))) continue;
      return fail(TESSERA_INVALID_ARGUMENT,
                  "output `%s` lies in the memory of kept weight `%s`: give it other memory", name,
                  program_.inputs[program_.input_count + w].name);
    }
    for (const Range* other = of_output(0); other < of_output(i); ++other) {
      if (!meet(at, *other)) continue;
      return fail(TESSERA_INVALID_ARGUMENT,
                  "outputs `%s` and `%s` overlap: give each its own memory",
                  program_.outputs[(other - of_output(0)) / 2].name, name);
    }
    return check_pools("output", name, at);
  }

  // Output `i` meets input `k`.
  std::int32_t check_shared(std::int32_t i, const Range& at, std::int32_t k) const {
    const char* const to = program_.outputs[i].name;
    const char* const from = program_.inputs[k].name;
    const Range& other = *of_input(k);
    if (!may_share(program_, i, k)) {
      return fail(
          TESSERA_INVALID_ARGUMENT,
          "output `%s` lies in the memory of input `%s`, and the model cannot compute it in place "
          "there: give it other memory (`tessera inspect` lists what may share memory)",
          to, from);
    }
    if (at.begin == other.begin && at.bytes == other.bytes) return TESSERA_OK;
    return fail(TESSERA_INVALID_ARGUMENT,
                "output `%s` and input `%s` overlap in part: they may share memory as a whole, "
                "%" PRIu64 " bytes from one address on",
                to, from, other.bytes);
  }

  std::int32_t check_pools(const char* what, const char* name, const Range& at) const {
    for (std::size_t p = 0; p < instance_.pools.size(); ++p) {
      if (!meet(at, range_of(instance_.pools[p]))) continue;
      return fail(TESSERA_INVALID_ARGUMENT,
                  "%s `%s` lies in the memory of the instance's pool `%s`: give it other memory",
                  what, name, program_.pools[p].name);
    }
    return TESSERA_OK;
  }

  tessera_instance& instance_;
  const tessera_program& program_;
};

}  // namespace

std::int32_t check_overlaps(tessera_instance& instance, const tessera_tensor* inputs,
                            const tessera_tensor* outputs, const std::int64_t* shapes) {
  OverlapCheck check(instance);
  if (!check.collect(inputs, outputs, shapes)) return TESSERA_OK;
  instance.ranges_are_apart = false;
  const std::int32_t status = check.check();
  instance.ranges_are_apart = status == TESSERA_OK;
  return status;
}

}  // namespace tessera::runtime
