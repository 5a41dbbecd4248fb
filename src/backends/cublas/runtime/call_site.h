// SPDX-License-Identifier: Apache-2.0
// State of one function of an instance: the product, and what was found for the sizes that it was
// called with last. An instance runs in one thread at a time.
#pragma once

#include "backends/cublas/runtime/product.h"
#include "runtime/state_device.h"
#include "tessera/call.h"

namespace tessera::backends::cublas {

struct Library {
  Api api = {};
  cublasLtHandle_t handle = nullptr;
  std::size_t version = 0;
  // As many as the products of the model need, for those with scales of rows or columns alone.
  runtime::StateMemory memory{nullptr};
  void* ones = nullptr;  // float32, of the device
  std::int64_t ones_count = 0;
};

// Of rows whose number is open, so many are multiplied at once.
inline constexpr std::int64_t kMostRowsWithOnes = 1 << 16;
// How many ones a product reads, at most.
std::int64_t ones_for(const Spec& spec);

class CallSite {
 public:
  CallSite(const Library& library, const Spec& spec)
      : library_(library), product_(library.api, library.handle, spec) {}
  CallSite(const CallSite&) = delete;
  CallSite& operator=(const CallSite&) = delete;
  ~CallSite();

  // With a plan if all sizes are known.
  [[nodiscard]] bool create(TextBuffer* error);
  [[nodiscard]] bool run(const tessera_call& call, tessera_tensor** tensors, std::int32_t count,
                         TextBuffer* error);
  // Why the algorithm that was measured is not taken; "". Of sizes that are open it is complete
  // once these were met.
  const char* note() const { return note_.text(); }

 private:
  static constexpr int kPlans = 16;
  struct Slot {
    Plan plan;
    std::uint64_t last_use = 0;  // 0: empty
  };

  bool is_for(const Sizes& sizes) const;
  bool is_of_this_version();
  bool takes_own_algorithm(Plan* plan);
  void note(const char* why);
  bool plan_for(const Sizes& sizes, const Plan** plan, TextBuffer* error);
  Operands operands_of(const tessera_call& call, tessera_tensor* const* tensors,
                       const tessera_tensor& result) const;

  const Library& library_;
  Product product_;
  Slot slots_[kPlans] = {};
  std::uint64_t uses_ = 0;
  TextBuffer note_;
};

}  // namespace tessera::backends::cublas
