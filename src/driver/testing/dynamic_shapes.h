// SPDX-License-Identifier: Apache-2.0
// One library for many shapes, for tests: what it computes equals the evaluation of the model with
// numbers for its symbols, by both executors.
#pragma once

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "driver/compile.h"
#include "driver/load_model.h"
#include "driver/testing/model_test.h"
#include "ops/evaluation/evaluate_function.h"
#include "support/files.h"
#include "types/target_list.h"

namespace tessera::driver::testing {

class DynamicShapes : public ModelTest {
 protected:
  // Compiles a text of definitions and opens both executors.
  void compile_text(const std::string& text, const std::vector<std::string>& targets = {"cpu"}) {
    compile_file("m.relay", "#[version = \"0.0.5\"]\n" + text, targets);
  }
  // The same of a file's contents.
  void compile_file(const std::string& name, const std::string& contents,
                    const std::vector<std::string>& targets = {"cpu"}) {
    options_.targets.clear();
    options_.model = folder_.file(name);
    options_.output = new_library();
    options_.jobs = 1;
    for (const std::string& t : targets) options_.targets.push_back(value_of(parse_target(t)));
    ASSERT_TRUE(write_atomically(options_.model, contents));
    report_ = value_of(compile(options_));
    exported_ = value_of(exec::Session::open_library(options_.output, {.threads = 2}));
    interpreted_ = value_of(prepare_in_process(options_, {.threads = 2}));
  }

  std::vector<Tensor> inputs_for(const Module& module) const {
    std::vector<Tensor> inputs;
    const relay::Function& main = module.functions.at("main");
    for (const relay::NodeId param : main.params()) {
      const Type& type = main.type(param);
      inputs.push_back(
          exec::random_input({"", type.dtype(), *constant_shape(type.shape())}, inputs.size() + 1));
    }
    return inputs;
  }

  // With these values of the symbols.
  void expect_right(const std::map<std::string, std::int64_t>& sizes) {
    std::vector<DimBinding> dims;
    for (const auto& [name, size] : sizes) dims.push_back({name, size, {}});
    const Module module = value_of(load_model(options_.model, dims));
    const std::vector<Tensor> inputs = inputs_for(module);
    const auto wanted = ops::evaluate(module, module.functions.at("main"), inputs);
    for (exec::Session* session : {exported_.get(), interpreted_.get()}) {
      expect_right_of(*session, inputs, wanted);
    }
  }

  // What the model computes of these, whose sizes may depend on data.
  void expect_right_with(const std::vector<Tensor>& inputs) {
    std::vector<DimBinding> dims;
    const Module module = value_of(load_model(options_.model, dims));
    const auto wanted = ops::evaluate(module, module.functions.at("main"), inputs);
    for (exec::Session* session : {exported_.get(), interpreted_.get()}) {
      expect_right_of(*session, inputs, wanted);
    }
  }
  // Twice: a second run has the same bits.
  static void expect_right_of(exec::Session& session, const std::vector<Tensor>& inputs,
                              const std::vector<Tensor>& wanted) {
    const std::vector<Tensor> found = value_of(session.run(inputs));
    const std::vector<Tensor> again = value_of(session.run(inputs));
    ASSERT_EQ(found.size(), wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      expect_near(found[i], wanted[i]);
      EXPECT_TRUE(std::ranges::equal(found[i].blob->bytes(), again[i].blob->bytes()));
    }
  }
  static Tensor int_list(const std::vector<std::int64_t>& values) {
    return tensor_from_ints({static_cast<std::int64_t>(values.size())}, kInt64, values);
  }
  static Tensor scalar(double value) {
    return tensor_from_doubles({}, kFloat32, std::vector{value});
  }

  static void expect_near(const Tensor& found, const Tensor& wanted) {
    ASSERT_TRUE(found.type() == wanted.type())
        << to_string(found.type()) << " instead of " << to_string(wanted.type());
    for (std::int64_t i = 0; i < wanted.num_elements(); ++i) {
      const double w = element_as_double(wanted, i);
      ASSERT_NEAR(element_as_double(found, i), w, 1e-4 * std::max(1.0, std::abs(w)));
    }
  }

  std::string error_with(const std::vector<Tensor>& inputs) {
    std::string first;
    for (exec::Session* session : {exported_.get(), interpreted_.get()}) {
      const auto result = session->run(inputs);
      EXPECT_FALSE(result);
      const std::string message = result ? "" : result.error().list.front().message;
      EXPECT_TRUE(first.empty() || first == message) << message;
      first = message;
    }
    return first;
  }
  static Tensor random_floats(std::vector<std::int64_t> shape) {
    return exec::random_input({"", kFloat32, std::move(shape)}, 1);
  }

  CompileOptions options_;
  CompileReport report_;
  std::unique_ptr<exec::Session> exported_, interpreted_;
};

}  // namespace tessera::driver::testing
