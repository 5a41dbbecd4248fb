// SPDX-License-Identifier: Apache-2.0
// Tiny ONNX files for tests, made with the protobuf classes.
#pragma once

#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "import/import_onnx.h"
#include "onnx.pb.h"
#include "relay/operator.h"
#include "support/files.h"

namespace tessera::import {

class TestModel {
 public:
  explicit TestModel(int opset = 17) : folder_(*TempDir::make("onnx-import-test")) {
    proto.set_ir_version(8);
    auto* import = proto.add_opset_import();
    import->set_version(opset);
    proto.mutable_graph()->set_name("g");
  }

  void input(const std::string& name, const std::vector<std::int64_t>& shape,
             int dtype = onnx::TensorProto::FLOAT) {
    describe(proto.mutable_graph()->add_input(), name, shape, dtype);
  }
  void output(const std::string& name) { proto.mutable_graph()->add_output()->set_name(name); }
  void output(const std::string& name, const std::vector<std::int64_t>& shape,
              int dtype = onnx::TensorProto::FLOAT) {
    describe(proto.mutable_graph()->add_output(), name, shape, dtype);
  }

  onnx::NodeProto* node(const std::string& op, const std::vector<std::string>& inputs,
                        const std::vector<std::string>& outputs, const std::string& name = "") {
    auto* n = proto.mutable_graph()->add_node();
    fill(n, op, inputs, outputs, name);
    return n;
  }
  static void fill(onnx::NodeProto* n, const std::string& op,
                   const std::vector<std::string>& inputs, const std::vector<std::string>& outputs,
                   const std::string& name = "") {
    n->set_op_type(op);
    n->set_name(name);
    for (const auto& i : inputs) n->add_input(i);
    for (const auto& o : outputs) n->add_output(o);
  }

  onnx::TensorProto* floats(const std::string& name, const std::vector<std::int64_t>& shape,
                            const std::vector<float>& values) {
    auto* t = proto.mutable_graph()->add_initializer();
    t->set_name(name);
    t->set_data_type(onnx::TensorProto::FLOAT);
    for (const auto d : shape) t->add_dims(d);
    t->set_raw_data(values.data(), values.size() * sizeof(float));
    return t;
  }
  onnx::TensorProto* ints(const std::string& name, const std::vector<std::int64_t>& values) {
    auto* t = proto.mutable_graph()->add_initializer();
    t->set_name(name);
    t->set_data_type(onnx::TensorProto::INT64);
    t->add_dims(static_cast<std::int64_t>(values.size()));
    for (const auto v : values) t->add_int64_data(v);
    return t;
  }
  // A tensor of `count` floats in an external file.
  onnx::TensorProto* external(const std::string& name, std::int64_t count,
                              const std::string& location, const std::string& offset = "") {
    auto* t = proto.mutable_graph()->add_initializer();
    t->set_name(name);
    t->set_data_type(onnx::TensorProto::FLOAT);
    t->add_dims(count);
    t->set_data_location(onnx::TensorProto::EXTERNAL);
    entry(t, "location", location);
    if (!offset.empty()) entry(t, "offset", offset);
    return t;
  }

  std::string file(const std::string& name) const { return folder_.file(name); }
  std::string write_bytes(const std::string& name, const std::string& bytes) const {
    std::ofstream(file(name), std::ios::binary) << bytes;
    return file(name);
  }
  std::string write() const { return write_bytes("model.onnx", proto.SerializeAsString()); }
  Result<Module> import(const ImportOptions& options = {}) const {
    return import_onnx(write(), options);
  }

  // A value's type: its name, sizes and elements.
  static void describe(onnx::ValueInfoProto* value, const std::string& name,
                       const std::vector<std::int64_t>& shape, int dtype) {
    value->set_name(name);
    auto* type = value->mutable_type()->mutable_tensor_type();
    type->set_elem_type(dtype);
    type->mutable_shape();
    for (const auto d : shape) type->mutable_shape()->add_dim()->set_dim_value(d);
  }

  onnx::ModelProto proto;

 private:
  static void entry(onnx::TensorProto* t, const std::string& key, const std::string& value) {
    auto* e = t->add_external_data();
    e->set_key(key);
    e->set_value(value);
  }

  TempDir folder_;
};

// The model's module; throws the diagnostics where there is none.
inline Module imported(const TestModel& m, const ImportOptions& options = {}) {
  auto module = m.import(options);
  if (!module) throw std::runtime_error(render(module.error()));
  return std::move(*module);
}

inline std::size_t count_calls(const relay::Function& f, std::string_view op) {
  std::size_t count = 0;
  for (std::uint32_t i = 0; i < f.num_nodes(); ++i) {
    const auto* called = f.op(relay::NodeId(i));
    if (called != nullptr && called->name == op) ++count;
  }
  return count;
}

inline onnx::AttributeProto* add_attribute(onnx::NodeProto* n, const std::string& name,
                                           onnx::AttributeProto::AttributeType type) {
  auto* a = n->add_attribute();
  a->set_name(name);
  a->set_type(type);
  return a;
}
inline void set_int(onnx::NodeProto* n, const std::string& name, std::int64_t value) {
  add_attribute(n, name, onnx::AttributeProto::INT)->set_i(value);
}
inline void set_string(onnx::NodeProto* n, const std::string& name, const std::string& value) {
  add_attribute(n, name, onnx::AttributeProto::STRING)->set_s(value);
}
inline void set_ints(onnx::NodeProto* n, const std::string& name,
                     const std::vector<std::int64_t>& values) {
  auto* a = add_attribute(n, name, onnx::AttributeProto::INTS);
  for (const auto v : values) a->add_ints(v);
}

inline void set_floats(onnx::NodeProto* n, const std::string& name,
                       const std::vector<float>& values) {
  auto* a = add_attribute(n, name, onnx::AttributeProto::FLOATS);
  for (const auto v : values) a->add_floats(v);
}
inline void set_strings(onnx::NodeProto* n, const std::string& name,
                        const std::vector<std::string>& values) {
  auto* a = add_attribute(n, name, onnx::AttributeProto::STRINGS);
  for (const auto& v : values) a->add_strings(v);
}

}  // namespace tessera::import
