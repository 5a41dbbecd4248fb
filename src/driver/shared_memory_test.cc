// SPDX-License-Identifier: Apache-2.0
// Outputs in the memory of inputs: a run either gives what it gives elsewhere, bit for bit, or is
// refused.
#include <cstring>

#include <dlfcn.h>
#include <gtest/gtest.h>

#include "driver/compile.h"
#include "driver/testing/model_test.h"
#include "exec/session.h"
#include "support/files.h"
#include "tessera/model.h"
#include "types/target_list.h"

namespace tessera::driver {
namespace {

using testing::value_of;

// A library through its C interface, with all tensors in memory of the test.
class Library {
 public:
  explicit Library(const std::string& path) : handle_(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    EXPECT_NE(handle_, nullptr);
    EXPECT_EQ(function<decltype(tessera_model_create)>("tessera_model_create")(nullptr, &model_),
              0);
    tessera_instance_options options = TESSERA_INSTANCE_OPTIONS_INIT;
    options.threads = 2;
    const auto create = function<decltype(tessera_instance_create)>("tessera_instance_create");
    EXPECT_EQ(create(model_, &options, &instance_), 0) << error();
    inputs =
        ports(function<decltype(tessera_model_input_count)>("tessera_model_input_count")(model_),
              function<decltype(tessera_model_input)>("tessera_model_input"));
    outputs =
        ports(function<decltype(tessera_model_output_count)>("tessera_model_output_count")(model_),
              function<decltype(tessera_model_output)>("tessera_model_output"));
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  ~Library() {
    function<decltype(tessera_instance_destroy)>("tessera_instance_destroy")(instance_);
    function<decltype(tessera_model_destroy)>("tessera_model_destroy")(model_);
    dlclose(handle_);
  }

  std::int32_t run(const std::vector<void*>& in, const std::vector<void*>& out) const {
    std::vector<tessera_tensor> given = tensors(inputs, in), wanted = tensors(outputs, out);
    return function<decltype(tessera_instance_run)>("tessera_instance_run")(
        instance_, given.data(), static_cast<std::int32_t>(given.size()), wanted.data(),
        static_cast<std::int32_t>(wanted.size()));
  }
  std::string error() const {
    return function<decltype(tessera_last_error)>("tessera_last_error")();
  }

  std::vector<tessera_io> inputs, outputs;

 private:
  template <class F>
  F* function(const char* name) const {
    return reinterpret_cast<F*>(dlsym(handle_, name));
  }
  template <class F>
  std::vector<tessera_io> ports(std::int32_t count, F* describe) const {
    std::vector<tessera_io> all(static_cast<std::size_t>(count), TESSERA_IO_INIT);
    for (std::int32_t i = 0; i < count; ++i) {
      EXPECT_EQ(describe(model_, i, &all[static_cast<std::size_t>(i)]), 0);
    }
    return all;
  }
  static std::vector<tessera_tensor> tensors(const std::vector<tessera_io>& ios,
                                             const std::vector<void*>& data) {
    std::vector<tessera_tensor> all;
    for (std::size_t i = 0; i < ios.size(); ++i) {
      all.push_back({data[i],
                     {TESSERA_CPU, 0},
                     ios[i].ndim,
                     ios[i].dtype,
                     const_cast<std::int64_t*>(ios[i].shape),
                     nullptr,
                     0});
    }
    return all;
  }

  void* handle_;
  tessera_model* model_ = nullptr;
  tessera_instance* instance_ = nullptr;
};

using Bytes = std::vector<std::byte>;

std::vector<void*> pointers(std::vector<Bytes>& all) {
  std::vector<void*> out;
  for (Bytes& b : all) out.push_back(b.data());
  return out;
}

std::vector<Bytes> room_for(const std::vector<tessera_io>& ios) {
  std::vector<Bytes> all;
  for (const tessera_io& io : ios) all.emplace_back(io.max_bytes);
  return all;
}

// Floats in [-1, 1), indices in [0, limit).
void fill(const tessera_io& io, Bytes& bytes, unsigned seed, std::int64_t limit) {
  const std::size_t count = bytes.size() / (io.dtype.bits / 8u);
  for (std::size_t i = 0; i < count; ++i) {
    seed = seed * 1664525u + 1013904223u;
    const float real = static_cast<float>(seed >> 8) / (1 << 23) - 1.0f;
    const std::int64_t whole = seed % static_cast<std::uint64_t>(limit);
    if (io.dtype.code == TESSERA_FLOAT) {
      std::memcpy(&bytes[4 * i], &real, 4);
    } else if (io.dtype.code == TESSERA_BOOL) {
      bytes[i] = std::byte(whole & 1);
    } else {
      std::memcpy(&bytes[8 * i], &whole, 8);
    }
  }
}

class SharedMemory : public testing::ModelTest {
 protected:
  std::string compile_text(const std::string& text, const std::string& backend = "") {
    CompileOptions o;
    // A library stays where it was loaded, so each has a name of its own.
    const std::string name = fmt::format("m{}", num_compiled_++);
    o.model = folder_.file(name + ".relay");
    o.output = folder_.file(name + ".so");
    o.jobs = 1;
    o.targets = {Target()};
    if (!backend.empty()) o.targets.push_back(Target(backend));
    EXPECT_TRUE(write_atomically(o.model, "#[version = \"0.0.5\"]\n" + text));
    value_of(compile(o));
    return o.output;
  }

  // The pairs that the library declares, output by output, having tried all that are of one size.
  static std::string tried_pairs(const Library& library) {
    std::string declared;
    for (std::size_t o = 0; o < library.outputs.size(); ++o) {
      const tessera_io& output = library.outputs[o];
      for (std::size_t i = 0; i < library.inputs.size(); ++i) {
        if (library.inputs[i].max_bytes != output.max_bytes) continue;
        const bool may = std::count(output.shares, output.shares + output.share_count,
                                    static_cast<std::int32_t>(i)) == 1;
        if (may) declared += fmt::format("{} in {}; ", o, library.inputs[i].name);
        expect_right_or_refused(library, o, i, may);
      }
    }
    return declared;
  }

  static void expect_right_or_refused(const Library& library, std::size_t o, std::size_t i,
                                      bool may) {
    std::vector<Bytes> in = room_for(library.inputs), out = room_for(library.outputs);
    for (std::size_t k = 0; k < in.size(); ++k) {
      fill(library.inputs[k], in[k], static_cast<unsigned>(k + 7 * o), 4);
    }
    const std::vector<Bytes> inputs_before = in;
    ASSERT_EQ(library.run(pointers(in), pointers(out)), TESSERA_OK) << library.error();
    const std::vector<Bytes> wanted = out;
    std::vector<void*> places = pointers(out);
    places[o] = in[i].data();
    if (!may) {
      ASSERT_EQ(library.run(pointers(in), places), TESSERA_INVALID_ARGUMENT);
      EXPECT_NE(library.error().find("lies in the memory of input"), std::string::npos);
      EXPECT_TRUE(in == inputs_before);
      return;
    }
    for (Bytes& b : out) std::fill(b.begin(), b.end(), std::byte{0xee});
    ASSERT_EQ(library.run(pointers(in), places), TESSERA_OK) << library.error();
    out[o] = in[i];
    EXPECT_TRUE(out == wanted) << "output " << o << " in input " << i;
  }

 private:
  int num_compiled_ = 0;
};

// One step of a decoder with caches of a fixed length, as exporters write it: the new rows are put
// at a place, and attention reads the result.
constexpr const char* kDecoder = R"(
def @main(%past_k: Tensor[(2, 8, 4), float32], %past_v: Tensor[(2, 8, 4), float32],
          %x: Tensor[(2, 1, 4), float32], %place: Tensor[(2, 1, 4), int64],
          %wk: Tensor[(2, 4, 4), float32], %wv: Tensor[(2, 4, 4), float32]) {
  %0 = nn.batch_matmul(%x, %wk);
  %1 = nn.batch_matmul(%x, %wv);
  %2 = scatter_elements(%past_k, %place, %0, axis=1);
  %3 = scatter_elements(%past_v, %place, %1, axis=1);
  %4 = nn.batch_matmul(%x, %2, transpose_b=True);
  %5 = nn.softmax(%4);
  %6 = nn.batch_matmul(%5, %3);
  (%6, %2, %3)
}
)";

class SharedCache : public SharedMemory, public ::testing::WithParamInterface<std::string> {};

TEST_P(SharedCache, ADecoderKeepsItsCacheInPlace) {
  const Library library(compile_text(kDecoder, GetParam()));
  std::vector<Bytes> apart = room_for(library.inputs), results = room_for(library.outputs);
  for (std::size_t k = 0; k < apart.size(); ++k) {
    fill(library.inputs[k], apart[k], static_cast<unsigned>(k), 1);
  }
  std::vector<Bytes> shared = apart;
  Bytes shared_result = results[0];
  for (std::int64_t step = 0; step < 6; ++step) {
    for (std::vector<Bytes>* in : {&apart, &shared}) {
      fill(library.inputs[2], (*in)[2], static_cast<unsigned>(step + 50), 1);
      for (std::size_t i = 0; i < 8; ++i) std::memcpy(&(*in)[3][8 * i], &step, 8);
    }
    ASSERT_EQ(library.run(pointers(apart), pointers(results)), TESSERA_OK) << library.error();
    apart[0] = results[1];
    apart[1] = results[2];
    ASSERT_EQ(
        library.run(pointers(shared), {shared_result.data(), shared[0].data(), shared[1].data()}),
        TESSERA_OK)
        << library.error();
    EXPECT_TRUE(shared_result == results[0]) << step;
    EXPECT_TRUE(shared == apart) << step;
  }
}

INSTANTIATE_TEST_SUITE_P(BackEnds, SharedCache, ::testing::Values("", "onednn", "blas"),
                         [](const auto& info) {
                           return info.param.empty() ? std::string("native") : info.param;
                         });

TEST_F(SharedMemory, WhatIsDeclaredIsRightAndTheRestRefused) {
  EXPECT_EQ(tried_pairs(Library(compile_text(kDecoder))),
            "0 in x; 1 in past_k; 2 in past_k; 2 in past_v; ");
  // Rows that are updated; the input is read again, or by nobody else.
  EXPECT_EQ(tried_pairs(Library(compile_text(R"(
def @main(%past: Tensor[(4, 3), float32], %row: Tensor[(3), float32], %at: Tensor[(), int64]) {
  update_row(%past, %row, %at)
}
)"))),
            "0 in past; ");
  EXPECT_EQ(tried_pairs(Library(compile_text(R"(
def @main(%past: Tensor[(4, 3), float32], %at: Tensor[(2, 5), int64], %new: Tensor[(5), float32]) {
  scatter_nd(%past, %at, %new)
}
)"))),
            "0 in past; ");
  // Many updates of an input stay loops, too.
  EXPECT_EQ(tried_pairs(Library(compile_text(R"(
def @main(%past: Tensor[(4, 3), float32], %at: Tensor[(2, 60), int64],
          %new: Tensor[(60), float32]) {
  scatter_nd(%past, %at, %new)
}
)"))),
            "0 in past; ");
  EXPECT_EQ(tried_pairs(Library(compile_text(R"(
def @main(%past: Tensor[(4, 3), float32], %mask: Tensor[(4, 3), bool],
          %new: Tensor[(4, 3), float32]) {
  where(%mask, %new, %past)
}
)"))),
            "0 in past; 0 in new; ");
  tried_pairs(Library(compile_text(R"(
def @main(%past: Tensor[(4, 4), float32], %new: Tensor[(4, 4), float32]) {
  %0 = add(%past, %new);
  %1 = nn.dense(%0, %past, units=4);
  %2 = transpose(%past, axes=[1, 0]);
  (%0, %1, %2, %past)
}
)")));
  tried_pairs(Library(compile_text(R"(
def @main(%past: Tensor[(4, 3), float32], %at: Tensor[(2, 3), int64], %new: Tensor[(2, 3), float32]) {
  %0 = scatter_elements(%past, %at, %new, reduction="add");
  %1 = nn.relu(%0);
  %2 = reverse(%past, axis=0);
  %3 = nn.softmax(%past);
  (%0, %1, %2, %3)
}
)")));
}

// The places of a cache that grows depend on its length.
TEST_F(SharedMemory, ACacheThatGrowsIsNotInPlace) {
  const Library library(compile_text(R"(
def @main(%past: Tensor[(2, 3, 4), float32], %new: Tensor[(2, 1, 4), float32]) {
  %0 = (%past, %new);
  concatenate(%0, axis=1)
}
)"));
  EXPECT_EQ(library.outputs[0].share_count, 0);
  std::vector<Bytes> in = room_for(library.inputs), out = room_for(library.outputs);
  in[0].resize(library.outputs[0].max_bytes);  // a buffer of the longest
  EXPECT_EQ(library.run(pointers(in), {in[0].data()}), TESSERA_INVALID_ARGUMENT);
  EXPECT_EQ(library.error(),
            fmt::format("output `{}` lies in the memory of input `past`, and the model cannot "
                        "compute it in place there: give it other memory (`tessera inspect` lists "
                        "what may share memory)",
                        library.outputs[0].name));
  EXPECT_EQ(library.run(pointers(in), pointers(out)), TESSERA_OK) << library.error();
}

}  // namespace
}  // namespace tessera::driver
