// SPDX-License-Identifier: Apache-2.0
// The execution provider of one session.
#pragma once

#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "model_library/library.h"
#include "onnxruntime_provider/compilation.h"
#include "onnxruntime_provider/ort.h"

namespace tessera::onnxruntime_provider {

inline constexpr const char* kName = "TesseraExecutionProvider";

// Calls `body`; what it throws becomes a status of onnxruntime's. None is ORT_EP_FAIL: at that,
// onnxruntime's package for Python makes the session anew without the provider.
template <class Body>
OrtStatus* guarded(const Body& body) noexcept {
  const auto status = [](OrtErrorCode code, const std::exception& error) {
    return Ort::GetApi().CreateStatus(code, error.what());
  };
  try {
    body();
    return nullptr;
  } catch (const Ort::Exception& error) {
    return status(error.GetOrtErrorCode(), error);
  } catch (const model_library::CallFailed& error) {
    const bool is_callers =
        error.status == TESSERA_INVALID_ARGUMENT || error.status == TESSERA_INDEX_OUTSIDE;
    return status(is_callers ? ORT_INVALID_ARGUMENT : ORT_FAIL, error);
  } catch (const std::invalid_argument& error) {
    return status(ORT_INVALID_ARGUMENT, error);
  } catch (const std::exception& error) {
    return status(ORT_FAIL, error);
  }
}

// Groups of nodes are compiled when onnxruntime asks what the provider takes, as only then what is
// refused can run elsewhere.
class Provider : public OrtEp {
 public:
  Provider(Options options, const OrtLogger* logger);

  void find_what_it_takes(const Ort::ConstGraph& graph, OrtEpGraphSupportInfo* support);
  OrtNodeComputeInfo* compiled(const Ort::ConstNode& fused);

 private:
  void take(const Ort::ConstGraph& graph, std::vector<Ort::ConstNode> group,
            OrtEpGraphSupportInfo* support);
  void tell(const std::string& what) const;

  Options options_;
  Ort::Logger logger_;
  std::map<std::string, std::shared_ptr<CompiledGraph>> graphs_;  // by each value that one makes
};

}  // namespace tessera::onnxruntime_provider
