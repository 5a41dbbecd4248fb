// SPDX-License-Identifier: Apache-2.0
#include "tests/model_fuzz/mutate_model.h"

#include <iterator>

#include <fmt/format.h>

#include "import/testing/operator_words.h"

namespace tessera::model_fuzz {
namespace {

constexpr std::int64_t kHostile[] = {0,
                                     1,
                                     -1,
                                     2,
                                     -2,
                                     3,
                                     7,
                                     64,
                                     65,
                                     1 << 16,
                                     INT32_MAX,
                                     std::int64_t{INT32_MAX} + 1,
                                     std::int64_t{1} << 40,
                                     std::int64_t{1} << 60,
                                     INT64_MAX,
                                     INT64_MIN};
constexpr int kTypes[] = {
    onnx::TensorProto::FLOAT,  onnx::TensorProto::INT64,  onnx::TensorProto::INT32,
    onnx::TensorProto::BOOL,   onnx::TensorProto::UINT8,  onnx::TensorProto::FLOAT16,
    onnx::TensorProto::DOUBLE, onnx::TensorProto::STRING, 99};

class Mutation {
 public:
  Mutation(onnx::ModelProto& model, std::uint64_t seed)
      : graph_(*model.mutable_graph()), random_(seed) {}

  std::string run() {
    std::string done;
    const std::uint64_t changes = 1 + below(4);
    for (std::uint64_t k = 0; k < changes; ++k) {
      const std::string one = change();
      if (!one.empty()) done += (done.empty() ? "" : "; ") + one;
    }
    return done;
  }

 private:
  std::uint64_t below(std::uint64_t n) { return random_() % n; }
  std::int64_t hostile() { return kHostile[below(std::size(kHostile))]; }
  template <class Repeated>
  auto* any(Repeated* items) {
    return items->empty()
               ? nullptr
               : items->Mutable(static_cast<int>(below(static_cast<std::uint64_t>(items->size()))));
  }

  std::string change() {
    switch (below(9)) {
      case 0:
      case 1:
        return change_attribute();
      case 2:
        return change_input_type();
      case 3:
        return make_constant();
      case 4:
      case 5:
        return change_initializer();
      case 6:
        return change_wiring();
      case 7:
        return add_attribute();
      default:
        return change_output();
    }
  }

  std::string change_attribute() {
    auto* node = any(graph_.mutable_node());
    auto* a = node == nullptr ? nullptr : any(node->mutable_attribute());
    if (a == nullptr) return "";
    switch (a->type()) {
      case onnx::AttributeProto::INT:
        a->set_i(hostile());
        break;
      case onnx::AttributeProto::INTS:
        change_list(*a->mutable_ints());
        break;
      case onnx::AttributeProto::FLOAT:
        a->set_f(static_cast<float>(hostile()));
        break;
      case onnx::AttributeProto::STRING:
        a->set_s(below(2) == 0 ? "" : std::string(below(3000), 'i') + "->");
        break;
      case onnx::AttributeProto::TENSOR:
        change_tensor(*a->mutable_t());
        break;
      default:
        node->clear_attribute();
    }
    return fmt::format("attribute {} of {}", a->name(), node->op_type());
  }

  void change_list(google::protobuf::RepeatedField<std::int64_t>& list) {
    switch (below(4)) {
      case 0:
        list.Clear();
        break;
      case 1:
        list.Add(hostile());
        break;
      case 2:
        if (!list.empty()) list.RemoveLast();
        break;
      default:
        if (!list.empty()) {
          list.Set(static_cast<int>(below(static_cast<std::uint64_t>(list.size()))), hostile());
        }
    }
  }

  std::string change_input_type() {
    auto* value = any(graph_.mutable_input());
    if (value == nullptr) return "";
    auto* type = value->mutable_type()->mutable_tensor_type();
    if (below(4) == 0) type->set_elem_type(kTypes[below(std::size(kTypes))]);
    auto* dims = type->mutable_shape()->mutable_dim();
    switch (below(5)) {
      case 0:
        dims->Clear();
        break;
      case 1:
        dims->Add()->set_dim_value(hostile());
        break;
      case 2:
        if (!dims->empty()) dims->RemoveLast();
        break;
      case 3:
        if (auto* d = any(dims)) d->set_dim_param("n");
        break;
      default:
        if (auto* d = any(dims)) d->set_dim_value(hostile());
    }
    return "type of input " + value->name();
  }

  // Inputs become initializers: what a run would be given is folded.
  std::string make_constant() {
    const auto* value = any(graph_.mutable_input());
    if (value == nullptr) return "";
    auto* t = graph_.add_initializer();
    t->set_name(value->name());
    t->set_data_type(value->type().tensor_type().elem_type());
    std::int64_t count = 1;
    for (const auto& d : value->type().tensor_type().shape().dim()) {
      t->add_dims(d.dim_value());
      if (d.dim_value() < 0 || d.dim_value() > 4096 || count > 4096) return "";
      count *= d.dim_value();
    }
    const bool wild = below(3) == 0;
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t n = wild ? hostile() : static_cast<std::int64_t>(below(3));
      switch (t->data_type()) {
        case onnx::TensorProto::FLOAT:
          t->add_float_data(static_cast<float>(n));
          break;
        case onnx::TensorProto::DOUBLE:
          t->add_double_data(static_cast<double>(n));
          break;
        case onnx::TensorProto::INT64:
          t->add_int64_data(n);
          break;
        case onnx::TensorProto::UINT64:
        case onnx::TensorProto::UINT32:
          t->add_uint64_data(static_cast<std::uint64_t>(n));
          break;
        default:
          t->add_int32_data(static_cast<std::int32_t>(n));
      }
    }
    return "input " + value->name() + " as a constant";
  }

  void change_tensor(onnx::TensorProto& t) {
    switch (below(5)) {
      case 0:
        t.clear_dims();
        break;
      case 1:
        change_list(*t.mutable_dims());
        break;
      case 2:
        t.set_data_type(kTypes[below(std::size(kTypes))]);
        break;
      case 3:  // a list of hostile numbers as long as it was
        if (t.data_type() == onnx::TensorProto::INT64) {
          const auto count = t.has_raw_data() ? t.raw_data().size() / 8
                                              : static_cast<std::size_t>(t.int64_data_size());
          t.clear_raw_data();
          t.clear_int64_data();
          for (std::size_t i = 0; i < count; ++i) t.add_int64_data(hostile());
        }
        break;
      default:  // a scalar
        t.clear_dims();
        t.clear_raw_data();
        t.clear_int64_data();
        t.clear_float_data();
        t.set_data_type(onnx::TensorProto::INT64);
        t.add_int64_data(hostile());
    }
  }

  std::string change_initializer() {
    auto* t = any(graph_.mutable_initializer());
    if (t == nullptr) return make_constant();
    change_tensor(*t);
    return "initializer " + t->name();
  }

  std::string change_wiring() {
    auto* node = any(graph_.mutable_node());
    if (node == nullptr || node->input().empty()) return "";
    auto* inputs = node->mutable_input();
    const int at = static_cast<int>(below(static_cast<std::uint64_t>(inputs->size())));
    switch (below(3)) {
      case 0:
        inputs->Mutable(at)->clear();
        break;
      case 1:
        inputs->RemoveLast();
        break;
      default:
        *inputs->Mutable(at) =
            inputs->Get(static_cast<int>(below(static_cast<std::uint64_t>(inputs->size()))));
    }
    return "inputs of " + node->op_type();
  }

  std::string add_attribute() {
    static const import::ImporterWords words = import::words_of_importer();
    auto* node = any(graph_.mutable_node());
    if (node == nullptr) return "";
    const auto own = words.operators.find(import::qualified_name(*node));
    const bool has_own = own != words.operators.end() && !own->second.attributes.empty();
    const auto& known = has_own && below(4) > 0 ? own->second.attributes : words.shared.attributes;
    const auto& [name, type] = known[below(known.size())];
    auto* a = node->add_attribute();
    a->set_name(name);
    a->set_type(type);
    a->set_i(hostile());
    a->set_f(static_cast<float>(hostile()));
    if (has_own && !own->second.words.empty())
      a->set_s(own->second.words[below(own->second.words.size())]);
    for (std::uint64_t i = below(5); i > 0; --i) a->add_ints(hostile());
    for (std::uint64_t i = below(5); i > 0; --i) a->add_floats(static_cast<float>(hostile()));
    return fmt::format("attribute {} to {}", a->name(), node->op_type());
  }

  std::string change_output() {
    auto* value = any(graph_.mutable_output());
    if (value == nullptr) return "";
    auto* dims = value->mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim();
    if (below(2) == 0) {
      dims->Clear();
    } else {
      dims->Add()->set_dim_value(hostile());
    }
    return "declaration of output " + value->name();
  }

  onnx::GraphProto& graph_;
  std::mt19937_64 random_;
};

}  // namespace

std::string mutate(onnx::ModelProto& model, std::uint64_t seed) {
  return Mutation(model, seed).run();
}

}  // namespace tessera::model_fuzz
