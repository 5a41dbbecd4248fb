// SPDX-License-Identifier: Apache-2.0
// Call-site state: what OpenVINO made of one region, and a request for it. Each instance has its
// own, as requests of one compiled model wait for each other.
#pragma once

#include "backends/openvino/runtime/api.h"
#include "runtime/array.h"
#include "runtime/fork.h"
#include "tessera/call.h"

namespace tessera::backends::openvino {

// Library state, shared by all instances. OpenVINO has threads that wait for work. Where they have
// not come through a fork, it would wait for them when it gives anything back, or compiles more.
struct Library {
  Api api = {};
  ov_core_t* core = nullptr;
  std::uint32_t forks = runtime::num_forks();

  Library() = default;
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  ~Library();

  bool has_threads() const { return forks == runtime::num_forks(); }
};

class CallSite {
 public:
  explicit CallSite(const Library& library) : library_(library), api_(library.api) {}
  CallSite(const CallSite&) = delete;
  CallSite& operator=(const CallSite&) = delete;
  ~CallSite();

  [[nodiscard]] bool create(const tessera_artifact_view& artifact, std::int32_t threads,
                            runtime::TextBuffer* error);

  // `tensors`: inputs, then outputs. False: `error` says why.
  [[nodiscard]] bool run(tessera_tensor** tensors, std::int32_t count, runtime::TextBuffer* error);

 private:
  // OpenVINO's name for the memory of a tensor, made anew where that or its shape is another.
  struct Bound {
    const void* address;
    ov_tensor_t* tensor;
    std::int32_t rank;
    std::int64_t shape[kMostDimensions];
  };

  bool import(const char* bytes, std::uint64_t size, std::int32_t threads,
              runtime::TextBuffer* error);
  bool is_bound(const Bound& bound, const tessera_tensor& tensor) const;
  bool bind(std::size_t i, const tessera_tensor& tensor, runtime::TextBuffer* error);

  const Library& library_;
  const Api& api_;
  ov_compiled_model_t* model_ = nullptr;
  ov_infer_request_t* request_ = nullptr;
  std::size_t inputs_ = 0, outputs_ = 0;
  runtime::Array<Bound> bound_;
};

}  // namespace tessera::backends::openvino
