// SPDX-License-Identifier: Apache-2.0
// A model in a program in C++: all threads share it, and each has an instance of its own.
#include <algorithm>
#include <array>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include <tessera/model.h>

namespace {

constexpr int kThreads = 4;
constexpr int kClasses = 4;

void check(int32_t status) {
  if (status != TESSERA_OK) throw std::runtime_error(tessera_last_error());
}

struct Destroy {
  void operator()(tessera_model* model) const { tessera_model_destroy(model); }
  void operator()(tessera_instance* instance) const { tessera_instance_destroy(instance); }
};
using Model = std::unique_ptr<tessera_model, Destroy>;
using Instance = std::unique_ptr<tessera_instance, Destroy>;

Model load() {
  tessera_model* model = nullptr;
  check(tessera_model_create(nullptr, &model));
  return Model(model);
}

// One thread an instance: the program's threads are what runs at once.
Instance make_instance(const Model& model) {
  tessera_instance_options options = TESSERA_INSTANCE_OPTIONS_INIT;
  options.threads = 1;
  tessera_instance* instance = nullptr;
  check(tessera_instance_create(model.get(), &options, &instance));
  return Instance(instance);
}

tessera_tensor tensor(float* data, int64_t* shape) {
  return {data, {TESSERA_CPU, 0}, 2, {TESSERA_FLOAT, 32, 1}, shape, nullptr, 0};
}

// The share of class `hit` where its score is 1 and the others' are 0, in as many rows.
float share_of_hit(const Model& model, int rows, int hit) {
  const Instance instance = make_instance(model);
  const auto count = static_cast<std::size_t>(rows) * kClasses;
  std::vector<float> scores(count), shares(count);
  for (int row = 0; row < rows; ++row) scores[row * kClasses + hit] = 1;
  std::array<int64_t, 2> shape = {rows, kClasses}, room = shape;
  const tessera_tensor input = tensor(scores.data(), shape.data());
  tessera_tensor output = tensor(shares.data(), room.data());
  check(tessera_instance_run(instance.get(), &input, 1, &output, 1));
  return shares[(rows - 1) * kClasses + hit];
}

}  // namespace

int main() try {
  const Model model = load();
  std::array<float, kThreads> shares = {};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      try {
        shares[i] = share_of_hit(model, i + 1, i % kClasses);
      } catch (const std::exception& e) {
        std::cerr << "classify: " << e.what() << '\n';
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const float share : shares) std::cout << share << '\n';
  return std::find(shares.begin(), shares.end(), 0) == shares.end() ? 0 : 1;  // 0: it failed
} catch (const std::exception& e) {
  std::cerr << "classify: " << e.what() << '\n';
  return 1;
}
