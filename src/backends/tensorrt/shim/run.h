// SPDX-License-Identifier: Apache-2.0
// The part of the shim that travels in a model's library: engines are deserialised when the model
// is created, and run.
#pragma once

#include <cstring>

#include "backends/tensorrt/shim/api.h"
#include "backends/tensorrt/shim/entry.h"
#include "runtime/array.h"
#include "runtime/back_end_state.h"
#include "runtime/state_device.h"
#include "tessera/call.h"

namespace tessera::backends::tensorrt {

inline constexpr std::uintptr_t kAlignBytes = TESSERA_TENSORRT_ALIGN_BYTES;

// Of TensorRT; defined by the source that includes this header (engine.cc).
extern const char kLibraryFile[];

// Library state: the engine of each region, shared by all instances.
class Library {
 public:
  Library() = default;
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  ~Library() {
    for (nvinfer1::ICudaEngine* engine : engines_) delete engine;
    delete runtime_;
  }

  // False: `error` says why, or a callee has.
  [[nodiscard]] bool create(const tessera_state_args& args, TextBuffer* error) {
    runtime::OpenedLibrary opened = {&args, tessera_vendor_library(&args, kLibraryFile)};
    Api api;
    if (opened.library == nullptr || !api.load(runtime::vendor_function, &opened)) return false;
    if (api.version() != kVersion) {
      error->add(
          "it was compiled for TensorRT %d.%d.%d, and the %s that is loaded has the version number "
          "%d instead of %d: name the folder of the former in TESSERA_LIBRARY_PATH, or compile the "
          "model again",
          NV_TENSORRT_MAJOR, NV_TENSORRT_MINOR, NV_TENSORRT_PATCH, kLibraryFile,
          static_cast<int>(api.version()), static_cast<int>(kVersion));
      return false;
    }
    runtime_ = static_cast<nvinfer1::IRuntime*>(api.create_runtime(&logger_, kVersion));
    if (runtime_ == nullptr) {
      error->add("TensorRT makes no runtime: %s", logger_.last());
      return false;
    }
    return deserialize(args, error);
  }

  nvinfer1::ICudaEngine* engine(const char* symbol) const {
    for (std::size_t i = 0; i < symbols_.size(); ++i) {
      if (std::strcmp(symbols_[i], symbol) == 0) return engines_[i];
    }
    return nullptr;
  }
  const char* last_error() const { return logger_.last(); }

 private:
  bool deserialize(const tessera_state_args& args, TextBuffer* error) {
    for (std::int32_t i = 0; i < args.artifact_count; ++i) {
      const tessera_artifact_view& artifact = args.artifacts[i];
      auto* engine = runtime_->deserializeCudaEngine(artifact.payload, artifact.payload_bytes);
      if (engine == nullptr) {
        error->add(
            "TensorRT does not take the engine of `%s`, which was built on another device "
            "or by another version: %s",
            artifact.symbol, logger_.last());
        return false;
      }
      if (!engines_.push(engine)) {
        delete engine;
        error->add("out of memory");
        return false;
      }
      if (symbols_.push(artifact.symbol)) continue;
      error->add("out of memory");
      return false;
    }
    return true;
  }

  Logger logger_;
  nvinfer1::IRuntime* runtime_ = nullptr;
  runtime::Array<nvinfer1::ICudaEngine*> engines_;
  runtime::Array<const char*> symbols_;  // parallel to the engines
};

// Call-site state: where one instance runs a region.
class CallSite {
 public:
  CallSite(const Library& library, runtime::StateMemory memory)
      : library_(library), memory_(memory) {}
  CallSite(const CallSite&) = delete;
  CallSite& operator=(const CallSite&) = delete;
  ~CallSite() { delete context_; }

  [[nodiscard]] bool create(const char* symbol, TextBuffer* error) {
    nvinfer1::ICudaEngine* engine = library_.engine(symbol);
    if (engine != nullptr) context_ = engine->createExecutionContext();
    if (context_ == nullptr) {
      error->add("TensorRT makes no context for its engine: %s", library_.last_error());
      return false;
    }
    for (std::int32_t i = 0; i < engine->getNbIOTensors(); ++i) {
      const char* name = engine->getIOTensorName(i);
      inputs_ += engine->getTensorIOMode(name) == nvinfer1::TensorIOMode::kINPUT ? 1 : 0;
    }
    tensors_ = engine->getNbIOTensors();
    if (addresses_.allocate(static_cast<std::size_t>(tensors_))) return true;
    error->add("out of memory");
    return false;
  }

  // `tensors`: inputs, then outputs. False: `error` says why.
  [[nodiscard]] bool run(const tessera_call& call, tessera_tensor** tensors, std::int32_t count,
                         TextBuffer* error) {
    if (count != tensors_) {
      error->add("called with %d tensors instead of %d", static_cast<int>(count),
                 static_cast<int>(tensors_));
      return false;
    }
    Room room(call);
    for (std::int32_t i = 0; i < count; ++i) {
      const tessera_tensor& tensor = *tensors[i];
      void*& address = addresses_[static_cast<std::size_t>(i)] = room.place(tensor);
      const bool is_input = i < inputs_;
      if (is_input && !copy(call, address, data(tensor), tensor, error)) return false;
      const TensorName name(is_input ? "input" : "output", is_input ? i : i - inputs_);
      if (address != nullptr && context_->setTensorAddress(name.text, address)) continue;
      error->add("TensorRT takes no address for %s: %s", name.text, library_.last_error());
      return false;
    }
    if (!context_->enqueueV3(static_cast<cudaStream_t>(call.stream))) {
      error->add("TensorRT failed: %s", library_.last_error());
      return false;
    }
    for (std::int32_t i = inputs_; i < count; ++i) {
      const void* address = addresses_[static_cast<std::size_t>(i)];
      if (!copy(call, data(*tensors[i]), address, *tensors[i], error)) return false;
    }
    return true;
  }

 private:
  static void* data(const tessera_tensor& tensor) {
    return static_cast<char*>(tensor.data) + tensor.byte_offset;
  }
  static std::uint64_t bytes_of(const tessera_tensor& tensor) {
    std::uint64_t bytes = tensor.dtype.bits / 8;
    for (std::int32_t d = 0; d < tensor.ndim; ++d) {
      bytes *= static_cast<std::uint64_t>(tensor.shape[d]);
    }
    return bytes;
  }

  // Aligned places in the workspace for tensors that are not.
  class Room {
   public:
    explicit Room(const tessera_call& call)
        : next_(reinterpret_cast<std::uintptr_t>(call.workspace)),
          end_(next_ + call.workspace_bytes) {}
    // Null: there is none.
    void* place(const tessera_tensor& tensor) {
      void* there = data(tensor);
      if (reinterpret_cast<std::uintptr_t>(there) % kAlignBytes == 0) return there;
      const std::uintptr_t at = (next_ + kAlignBytes - 1) / kAlignBytes * kAlignBytes;
      next_ = at + bytes_of(tensor);
      return next_ <= end_ ? reinterpret_cast<void*>(at) : nullptr;
    }

   private:
    std::uintptr_t next_, end_;
  };

  bool copy(const tessera_call& call, void* to, const void* from, const tessera_tensor& tensor,
            TextBuffer* error) const {
    if (to == from || to == nullptr) return true;
    return memory_.copy(to, from, bytes_of(tensor), call.stream, error);
  }

  const Library& library_;
  runtime::StateMemory memory_;
  nvinfer1::IExecutionContext* context_ = nullptr;
  std::int32_t inputs_ = 0, tensors_ = 0;
  runtime::Array<void*> addresses_;  // by tensor
};

}  // namespace tessera::backends::tensorrt

extern "C" {

int32_t tessera_tensorrt_create_library(const tessera_state_args* args, void** state) {
  namespace tensorrt = tessera::backends::tensorrt;
  tensorrt::TextBuffer error;
  auto* library = tessera::runtime::create<tensorrt::Library>();
  if (library == nullptr) error.add("out of memory");
  if (library != nullptr && library->create(*args, &error)) {
    *state = library;
    return 0;
  }
  tessera::runtime::destroy(library);
  return tessera::runtime::failed(args, error);
}

void tessera_tensorrt_destroy_library(void* state) {
  tessera::runtime::destroy(static_cast<tessera::backends::tensorrt::Library*>(state));
}

int32_t tessera_tensorrt_create_call_site(const tessera_state_args* args, void** state) {
  namespace tensorrt = tessera::backends::tensorrt;
  tensorrt::TextBuffer error;
  auto* site = tessera::runtime::create<tensorrt::CallSite>(
      *static_cast<tensorrt::Library*>(args->states->library),
      tessera::runtime::state_memory(args));
  if (site == nullptr) return tessera::runtime::out_of_memory(args);
  if (site->create(args->artifacts[0].symbol, &error)) {
    *state = site;
    return 0;
  }
  tessera::runtime::destroy(site);
  return tessera::runtime::failed(args, error);
}

void tessera_tensorrt_destroy_call_site(void* state) {
  tessera::runtime::destroy(static_cast<tessera::backends::tensorrt::CallSite*>(state));
}

int32_t tessera_tensorrt_run(const tessera_call* call, tessera_tensor** tensors,
                             int32_t tensor_count) {
  return tessera::runtime::run_call_site<tessera::backends::tensorrt::CallSite>(call, tensors,
                                                                                tensor_count);
}
}
