// SPDX-License-Identifier: Apache-2.0
#include "backends/cudnn/runtime/configuration.h"

#include <charconv>

namespace tessera::backends::cudnn {
namespace {

constexpr std::size_t kMostChoices = CUDNN_KNOB_TYPE_COUNTS;

// A configuration on its way; what is not given is left as the engine has it.
class Builder {
 public:
  Builder(const Device& device, const OperationGraph& graph) : device_(device), graph_(graph) {}

  const Descriptor& configuration() const { return configuration_; }

  bool build(std::string_view text, TextBuffer* error) {
    at_ = text.data();
    end_ = text.data() + text.size();
    std::int64_t engine = 0;
    if (!number(&engine) || !mark(':')) return no_text(text, error);
    if (!make_engine(engine, error)) return false;
    while (at_ != end_) {
      std::int64_t type = 0, value = 0;
      const bool is_choice = number(&type) && mark('=') && number(&value) &&
                             (at_ == end_ || mark(',')) && count_ < kMostChoices;
      if (!is_choice) return no_text(text, error);
      add_choice(static_cast<cudnnBackendKnobType_t>(type), value);
    }
    return finish(error);
  }

 private:
  bool number(std::int64_t* value) {
    const auto [next, why] = std::from_chars(at_, end_, *value);
    const bool is_there = why == std::errc() && next != at_;
    at_ = next;
    return is_there;
  }
  bool mark(char c) {
    if (at_ == end_ || *at_ != c) return false;
    ++at_;
    return true;
  }
  static bool no_text(std::string_view text, TextBuffer* error) {
    error->add("`%.*s` is no configuration", static_cast<int>(text.size()), text.data());
    return false;
  }

  bool make_engine(std::int64_t number, TextBuffer* error) {
    engine_.create(device_.api(), CUDNN_BACKEND_ENGINE_DESCRIPTOR)
        .set(CUDNN_ATTR_ENGINE_OPERATION_GRAPH, graph_.descriptor())
        .set(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, number);
    device_.set_on(engine_, CUDNN_ATTR_ENGINE_DEVICEPROP);
    const cudnnStatus_t status = engine_.finalize();
    return status == CUDNN_STATUS_SUCCESS || fail(device_.api(), "no such engine", status, error);
  }

  // A choice that the library does not know is missed by finish().
  void add_choice(cudnnBackendKnobType_t type, std::int64_t value) {
    Descriptor& choice = choices_[count_];
    choice.create(device_.api(), CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR)
        .set(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE, 1, &type)
        .set(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, value)
        .finalize();
    raw_[count_++] = choice.raw();
  }

  bool finish(TextBuffer* error) {
    configuration_.create(device_.api(), CUDNN_BACKEND_ENGINECFG_DESCRIPTOR)
        .set(CUDNN_ATTR_ENGINECFG_ENGINE, engine_);
    if (count_ > 0) {
      configuration_.set(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                         static_cast<std::int64_t>(count_), raw_);
    }
    const cudnnStatus_t status = configuration_.finalize();
    return status == CUDNN_STATUS_SUCCESS ||
           fail(device_.api(), "no such configuration", status, error);
  }

  const Device& device_;
  const OperationGraph& graph_;
  const char *at_ = nullptr, *end_ = nullptr;
  Descriptor engine_, configuration_, choices_[kMostChoices];
  cudnnBackendDescriptor_t raw_[kMostChoices] = {};
  std::size_t count_ = 0;
};

}  // namespace

bool make_plan(const Device& device, const OperationGraph& graph, std::string_view text, Plan* plan,
               TextBuffer* error) {
  Builder builder(device, graph);
  return builder.build(text, error) && plan->make(device, builder.configuration(), error);
}

}  // namespace tessera::backends::cudnn
