// SPDX-License-Identifier: Apache-2.0
// The part of the shim that builds engines: in a library that the compiler loads, in a process of
// its own.
#pragma once

#include <dlfcn.h>

#include "backends/tensorrt/shim/entry.h"
#include "backends/tensorrt/shim/network.h"

namespace tessera::backends::tensorrt {

class EngineBuilder {
 public:
  EngineBuilder(const tessera_tensorrt_build_args& args, TextBuffer* error)
      : args_(args), error_(error) {}

  tessera_tensorrt_status run() {
    const std::string_view text(static_cast<const char*>(args_.graph->payload),
                                args_.graph->payload_bytes);
    if (!graph_.parse(text)) return failed(TESSERA_TENSORRT_NO_ENGINE, graph_.error());
    Api api;
    const Lookup look_up = [](void* library, const char* symbol) { return dlsym(library, symbol); };
    if (!api.load(look_up, args_.library) || api.version() != kVersion) {
      return failed(TESSERA_TENSORRT_NO_BUILDER, "the library is not that of the headers");
    }
    const Owned<nvinfer1::IBuilder> builder(api.create_builder(&logger_, kVersion));
    if (builder.get() == nullptr) {
      error_->add("TensorRT makes no builder, which needs the device: ");
      return failed(TESSERA_TENSORRT_NO_BUILDER, logger_.last());
    }
    return build(*builder);
  }

 private:
  tessera_tensorrt_status failed(tessera_tensorrt_status status, const char* why) {
    error_->add("%s", why);
    return status;
  }

  // Options stand in every layer: those of the first one.
  std::int64_t option(const char* name) const {
    std::int64_t value = 0;
    for (const JsonNode& node : graph_.nodes()) {
      if (node.op != JsonOp::kKernel) continue;
      static_cast<void>(graph_.attr_int(node, name, &value));
      break;
    }
    return value;
  }

  void configure(nvinfer1::IBuilderConfig& config) const {
    config.setMemoryPoolLimit(nvinfer1::MemoryPoolType::kWORKSPACE,
                              static_cast<std::size_t>(option("max_workspace_size")));
    // TensorRT would take it by itself.
    if (option("tf32") == 0) config.clearFlag(nvinfer1::BuilderFlag::kTF32);
#if NV_TENSORRT_MAJOR < 11
    if (option("use_fp16") != 0) config.setFlag(nvinfer1::BuilderFlag::kFP16);
#endif
  }

  tessera_tensorrt_status build(nvinfer1::IBuilder& builder) {
#if NV_TENSORRT_MAJOR < 10
    constexpr std::uint32_t kFlags =
        1u << static_cast<std::uint32_t>(nvinfer1::NetworkDefinitionCreationFlag::kEXPLICIT_BATCH);
#else
    constexpr std::uint32_t kFlags = 0;  // all batches are explicit
#endif
    const Owned<nvinfer1::INetworkDefinition> network(builder.createNetworkV2(kFlags));
    const Owned<nvinfer1::IBuilderConfig> config(builder.createBuilderConfig());
    if (network.get() == nullptr || config.get() == nullptr) {
      return failed(TESSERA_TENSORRT_NO_BUILDER, logger_.last());
    }
    configure(*config);
    Network writer(graph_, *args_.graph, *network, error_);
    if (!writer.build(option("use_fp16") != 0)) {
      error_->add(" (%s)", logger_.last());
      return TESSERA_TENSORRT_NO_ENGINE;
    }
    const Owned<nvinfer1::IHostMemory> engine(builder.buildSerializedNetwork(*network, *config));
    if (engine.get() == nullptr) {
      error_->add("TensorRT builds no engine: ");
      return failed(TESSERA_TENSORRT_NOT_BUILT, logger_.last());
    }
    args_.take(args_.context, engine->data(), engine->size());
    return TESSERA_TENSORRT_OK;
  }

  const tessera_tensorrt_build_args& args_;
  TextBuffer* error_;
  Logger logger_;  // of objects that end before it
  JsonGraph graph_;
};

}  // namespace tessera::backends::tensorrt

extern "C" __attribute__((visibility("default"))) int32_t tessera_tensorrt_build(
    const tessera_tensorrt_build_args* args) {
  tessera::runtime::TextBuffer error;
  const auto status = tessera::backends::tensorrt::EngineBuilder(*args, &error).run();
  __builtin_snprintf(args->error, args->error_bytes, "%s", error.text());
  return status;
}
