// SPDX-License-Identifier: Apache-2.0
#include "tests/guard/guarded_run.h"

#include <algorithm>
#include <new>
#include <numeric>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tests/guard/hostile.h"
#include "tests/guard/last_words.h"
#include "tests/guard/model_library.h"

namespace tessera::guard {
namespace {

// Whose memory an output has: the instance's, or the caller's with as much room as it needs, with
// more, or with less.
enum class Room { kOwn, kExact, kMore, kLess };
constexpr const char* kRoomNames[] = {"own", "exact", "more", "less"};

// What an instance allocates. One thread at a time uses it.
class Allocator {
 public:
  explicit Allocator(Place place) : place_(place) {}
  tessera_allocator functions() { return {this, allocate, release}; }
  bool was_intact() const { return was_intact_; }

 private:
  static void* allocate(void* self, std::uint64_t bytes, std::uint64_t align, tessera_device) {
    auto& allocator = *static_cast<Allocator*>(self);
    try {
      allocator.blocks_.emplace_back(bytes, align, allocator.place_);
      return allocator.blocks_.back().data();
    } catch (const std::bad_alloc&) {
      return nullptr;
    }
  }
  static void release(void* self, void* memory, std::uint64_t, tessera_device) {
    auto& allocator = *static_cast<Allocator*>(self);
    std::vector<GuardedMemory> kept;
    for (GuardedMemory& block : allocator.blocks_) {
      if (block.data() == memory) {
        allocator.was_intact_ &= block.surroundings_are_intact();
      } else {
        kept.push_back(std::move(block));
      }
    }
    allocator.blocks_.swap(kept);
  }

  Place place_;
  std::vector<GuardedMemory> blocks_;
  bool was_intact_ = true;
};

// UINT64_MAX where nothing can count them.
std::uint64_t bytes_of(const Port& port, const Ints& shape) {
  std::uint64_t bytes = port.element_bytes();
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  for (const std::int64_t size : shape) {
    if (__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(size), &bytes)) return UINT64_MAX;
  }
  return bytes;
}

// A tensor of a run, with its memory.
struct Operand {
  Ints shape;
  std::optional<GuardedMemory> memory;

  tessera_tensor tensor(const Port& port) {
    tessera_tensor t = {};
    t.data = memory ? memory->data() : nullptr;
    t.device = {TESSERA_CPU, 0};
    t.ndim = port.io.ndim;
    t.dtype = port.io.dtype;
    t.shape = shape.data();
    return t;
  }
};

// Reads every byte: what a library calls its result must be there.
std::uint64_t touch(const tessera_tensor& t, std::uint64_t bytes) {
  const auto* begin = static_cast<const volatile std::uint8_t*>(t.data);
  return std::accumulate(begin, begin + bytes, std::uint64_t{0});
}

class GuardedRuns {
 public:
  GuardedRuns(const ModelLibrary& library, const RunOptions& options, Place place, Outcome& outcome)
      : library_(library), options_(options), place_(place), outcome_(outcome) {}

  void run() {
    Allocator allocator(place_);
    tessera_instance* instance = library_.create_instance(allocator.functions(), options_.threads);
    if (instance == nullptr) {
      ++outcome_.refused;
      outcome_.last_refusal = library_.last_error();
      return;
    }
    for (int round = 0; round < options_.rounds; ++round) {
      constexpr Sizes kKinds[] = {Sizes::kAgreeing, Sizes::kEqual, Sizes::kAgreeing, Sizes::kAny,
                                  Sizes::kHuge};
      const Sizes sizes = kKinds[round % 5];
      const Data data = round % 3 == 0 ? Data::kTame : round % 3 == 1 ? Data::kNear : Data::kWild;
      Random random(options_.seed * 1000003 + static_cast<std::uint64_t>(round));
      try {
        run(instance, sizes, data, random);
      } catch (const std::bad_alloc&) {
        ++outcome_.refused;  // more than the test wants to have
      }
    }
    library_.destroy(instance);
    if (!allocator.was_intact()) fault("wrote beyond memory of the instance");
  }

 private:
  void run(tessera_instance* instance, Sizes sizes, Data data, Random& random) {
    const std::vector<Ints> shapes = hostile_shapes(library_.inputs(), sizes, random);
    const auto room = static_cast<Room>(random() % 4);
    doing_ = fmt::format("sizes {}, data {}, room {}, at the {}: inputs [{}]", to_string(sizes),
                         to_string(data), kRoomNames[static_cast<int>(room)],
                         place_ == Place::kEnd ? "end" : "begin", fmt::join(shapes, "; "));
    last_words(doing_);
    std::vector<Operand> inputs;
    std::vector<tessera_tensor> input_tensors;
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      const Port& port = library_.inputs()[i];
      inputs.push_back(
          {shapes[i], GuardedMemory(bytes_of(port, shapes[i]), port.io.align_bytes, place_)});
      fill(inputs.back().memory->bytes(), port.io.dtype, data, random);
      inputs.back().memory->make_read_only();
      input_tensors.push_back(inputs.back().tensor(port));
    }
    std::vector<Operand> outputs = make_outputs(library_.output_shapes(input_tensors), room);
    const std::vector<Ints> rooms = shapes_of(outputs);
    std::vector<tessera_tensor> output_tensors;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      output_tensors.push_back(outputs[i].tensor(library_.outputs()[i]));
    }
    const std::int32_t status = library_.run(instance, input_tensors, output_tensors);
    if (status == TESSERA_OK) {
      ++outcome_.right;
      for (std::size_t i = 0; i < outputs.size(); ++i) {
        check_result(i, outputs[i], rooms[i], output_tensors[i]);
      }
    } else {
      ++outcome_.refused;
      outcome_.last_refusal = library_.last_error();
    }
    for (const Operand& o : outputs) {
      if (o.memory && !o.memory->surroundings_are_intact()) fault("wrote beyond an output");
    }
  }

  static std::vector<Ints> shapes_of(const std::vector<Operand>& operands) {
    std::vector<Ints> shapes;
    for (const Operand& o : operands) shapes.push_back(o.shape);
    return shapes;
  }

  std::vector<Operand> make_outputs(const std::vector<Ints>& shapes, Room room) {
    std::vector<Operand> outputs(library_.outputs().size());
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const Port& port = library_.outputs()[i];
      outputs[i].shape.resize(static_cast<std::size_t>(port.io.ndim));
      // What is refused needs no memory, and what data decide is guessed.
      if (shapes.empty() || room == Room::kOwn) continue;
      outputs[i].shape = shapes[i];
      for (std::int64_t& size : outputs[i].shape) size = size < 0 ? 3 : size;
      if (!outputs[i].shape.empty()) {
        std::int64_t& first = outputs[i].shape.front();
        if (room == Room::kMore) ++first;
        if (room == Room::kLess) first = std::max<std::int64_t>(first - 1, 0);
      }
      outputs[i].memory.emplace(bytes_of(port, outputs[i].shape), port.io.align_bytes, place_);
    }
    return outputs;
  }

  void check_result(std::size_t i, const Operand& given, const Ints& room,
                    const tessera_tensor& result) {
    const Port& port = library_.outputs()[i];
    const Ints shape(result.shape, result.shape + result.ndim);
    const bool negative = std::any_of(shape.begin(), shape.end(), [](auto n) { return n < 0; });
    if (negative) return fault("gave an output a negative size");
    const std::uint64_t bytes = bytes_of(port, shape);
    if (given.memory && result.data != given.memory->data()) return fault("replaced an output");
    if (given.memory && bytes > bytes_of(port, room)) {
      return fault("says that it wrote more than there is room for");
    }
    touched_ += touch(result, bytes);
  }

  void fault(const std::string& what) { outcome_.faults.push_back(what + "; " + doing_); }

  const ModelLibrary& library_;
  const RunOptions& options_;
  const Place place_;
  Outcome& outcome_;
  std::string doing_;
  std::uint64_t touched_ = 0;
};

}  // namespace

Outcome run_guarded(const std::string& library, const RunOptions& options) {
  const ModelLibrary loaded(library);
  Outcome outcome;
  for (const Place place : options.places) GuardedRuns(loaded, options, place, outcome).run();
  last_words("");
  return outcome;
}

}  // namespace tessera::guard
