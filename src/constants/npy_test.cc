// SPDX-License-Identifier: Apache-2.0
#include "constants/npy.h"

#include <csignal>
#include <random>

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "support/subprocess.h"
#include "support/testing/expect_contains.h"

namespace tessera {
namespace {

using tessera::testing::expect_contains;

const std::string kTestdata = TESSERA_SOURCE_DIR "/src/constants/testdata/";
using Tensors = std::map<std::string, Tensor>;

// 0, 1, 2, ... as testdata/make.py counts; a bool is whether it is not 0.
Tensor counted(DType dtype, std::vector<std::int64_t> shape) {
  std::int64_t count = 1;
  for (const auto size : shape) count *= size;
  std::vector<std::int64_t> values;
  for (std::int64_t i = 0; i < count; ++i) values.push_back(i);
  return tensor_from_ints(std::move(shape), dtype, values);
}

Tensors everything() {
  Tensors tensors;
  for (const char* dtype : {"bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32",
                            "uint64", "float16", "float32", "float64", "bfloat16"}) {
    tensors[dtype] = counted(*parse_dtype(dtype), {2, 3});
  }
  tensors["block/scalar"] = Tensor::scalar<std::int32_t>(7, kInt32);
  tensors["empty"] = counted(kFloat32, {2, 0, 3});
  tensors["vector"] = counted(kFloat32, {5});
  tensors["fortran"] = counted(kInt16, {2, 3, 4});
  tensors["big"] = counted(kInt32, {2, 3});
  tensors["big_fortran"] = counted(kFloat64, {2, 3});
  return tensors;
}

void expect_same(const Tensors& found, const Tensors& expected) {
  for (const auto& [name, tensor] : expected) {
    const auto it = found.find(name);
    ASSERT_NE(it, found.end()) << name;
    EXPECT_EQ(it->second, tensor) << name;
  }
  EXPECT_EQ(found.size(), expected.size());
}

template <class T>
std::string problem_of(const Result<T>& result) {
  return result ? "accepted" : render(result.error());
}
class Npy : public ::testing::Test {
 protected:
  std::string path(std::string_view name) const { return dir_->file(name); }
  std::string written(std::string_view content) const {
    EXPECT_TRUE(write_atomically(path("x"), content));
    return path("x");
  }
  FileResult<TempDir> dir_ = TempDir::make("tessera-test-");
};

TEST_F(Npy, ReadsWhatNumpyWrote) {
  for (const char* name : {"stored.npz", "deflated.npz"}) {
    const auto tensors = read_npz(kTestdata + name);
    ASSERT_TRUE(tensors) << problem_of(tensors);
    expect_same(*tensors, everything());
  }
  for (const char* name : {"version1.npy", "version2.npy", "version3.npy"}) {
    const auto tensor = read_npy(kTestdata + name);
    ASSERT_TRUE(tensor) << problem_of(tensor);
    EXPECT_EQ(*tensor, counted(kFloat32, {2, 3}));
  }
}

TEST_F(Npy, WritesWhatItReads) {
  for (const auto& [name, tensor] : everything()) {
    ASSERT_TRUE(write_npy(path("a.npy"), tensor));
    EXPECT_EQ(*read_npy(path("a.npy")), tensor) << name;
    EXPECT_EQ(npy_header(tensor).size() % 64, 0u);
  }
  for (const auto method : {NpzCompression::kStored, NpzCompression::kDeflated}) {
    ASSERT_TRUE(write_npz(path("a.npz"), everything(), method));
    const auto tensors = read_npz(path("a.npz"));
    ASSERT_TRUE(tensors) << problem_of(tensors);
    expect_same(*tensors, everything());
    const std::string first = *read_file(path("a.npz"));
    ASSERT_TRUE(write_npz(path("a.npz"), everything(), method));
    EXPECT_EQ(*read_file(path("a.npz")), first);
  }
  ASSERT_TRUE(write_npz(path("a.npz"), {}));
  EXPECT_TRUE(read_npz(path("a.npz"))->empty());
}

TEST_F(Npy, NumpyReadsWhatWasWritten) {
  ASSERT_TRUE(write_npz(path("stored.npz"), everything()));
  ASSERT_TRUE(write_npz(path("deflated.npz"), everything(), NpzCompression::kDeflated));
  ASSERT_TRUE(write_npy(path("a.npy"), counted(kFloat16, {3, 1})));
  const char* script =
      "import numpy as np, sys, os, zipfile\n"
      "for name in ['stored.npz', 'deflated.npz']:\n"
      "  assert zipfile.ZipFile(os.path.join(sys.argv[2], name)).testzip() is None\n"
      "  ours = np.load(os.path.join(sys.argv[2], name))\n"
      "  theirs = np.load(os.path.join(sys.argv[1], name))\n"
      "  assert sorted(ours) == sorted(theirs), list(ours)\n"
      "  for key in ours:\n"
      "    assert ours[key].dtype == theirs[key].dtype.newbyteorder('='), key\n"
      "    assert ours[key].shape == theirs[key].shape, key\n"
      "    assert ours[key].tobytes() == theirs[key].astype(ours[key].dtype).tobytes(), key\n"
      "half = np.load(os.path.join(sys.argv[2], 'a.npy'))\n"
      "assert half.dtype == 'float16' and half.tolist() == [[0], [1], [2]]\n";
  const auto result = run_process({TESSERA_PYTHON, "-c", script, kTestdata, dir_->path()});
  ASSERT_TRUE(result) << result.error().text();
  EXPECT_TRUE(result->ok()) << result->err;
}

TEST_F(Npy, StoredMembersAreMappedAndAligned) {
  Tensors tensors;
  for (int i = 0; i < 5; ++i) {
    tensors["name" + std::string(static_cast<std::size_t>(i * 7), 'x')] =
        counted(kFloat64, {i + 3});
  }
  ASSERT_TRUE(write_npz(path("a.npz"), tensors));
  const auto read = read_npz(path("a.npz"));
  ASSERT_TRUE(read);
  for (const auto& [name, tensor] : *read) {
    const auto bytes = tensor.blob->bytes();
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(bytes.data()) % 64, 0u) << name;
  }
}

TEST_F(Npy, SaysWhatIsWrongWithAnArray) {
  EXPECT_EQ(read_npy(path("none")).error().list.front().code, Code::kFileNotFound);
  EXPECT_EQ(read_npy(written("")).error().list.front().code, Code::kFileEmpty);
  expect_contains(problem_of(read_npy(written("hello"))),
                  "error[E0106]: " + path("x") + ": this is not a .npy");
  expect_contains(problem_of(read_npy(kTestdata + "words.npy")),
                  "the data type `<U1` is not supported");
  expect_contains(problem_of(read_npy(kTestdata + "record.npy")), "the header is not a dictionary");
  const std::string good = *read_file(kTestdata + "version1.npy");
  expect_contains(problem_of(read_npy(written(good.substr(0, good.size() - 1)))),
                  "24 bytes of data are due, 23 are there");
  expect_contains(problem_of(read_npy(written(good.substr(0, 50)))), "its header is truncated");
  const auto with = [&](std::string_view old, std::string_view replacement) {
    std::string text = good;
    text.replace(text.find(old), old.size(), replacement);
    return problem_of(read_npy(written(text)));
  };
  expect_contains(with("(2, 3), }", "(-2,3), }"), "the header is not a dictionary");
  expect_contains(with("(2, 3), }", "(2, 3), ]"), "the header is not a dictionary");
  expect_contains(with("'shape'", "'descr'"), "the header is not a dictionary");
  expect_contains(with("False", "Maybe"), "the header is not a dictionary");
  expect_contains(with("(2, 3), }            ", "(4611686018427387904,), }"),
                  "the size of the tensor overflows");
  expect_contains(with("\x01", "\x07"), "this is not a .npy file");
}

TEST_F(Npy, SaysWhatIsWrongWithAnArchive) {
  const std::string good = *read_file(kTestdata + "deflated.npz"),
                    stored = *read_file(kTestdata + "stored.npz");
  expect_contains(problem_of(read_npz(written(good.substr(0, 1000)))),
                  "the archive has no directory");
  std::string bent = stored;
  bent[bent.find("\x93NUMPY") + 130] ^= 1;
  expect_contains(problem_of(read_npz(written(bent))), "member `bool.npy`: its checksum is wrong");
  bent = good;
  bent[bent.find("PK\1\2") + 10] = 12;
  expect_contains(problem_of(read_npz(written(bent))),
                  "its compression method 12 is not supported");
  bent = good;
  bent[bent.find("PK\1\2") + 8] |= 1;
  expect_contains(problem_of(read_npz(written(bent))), "it is encrypted");
  bent = good;
  bent[bent.find("PK\1\2") + 27] = 0x7f;  // a size of 2 GB
  expect_contains(problem_of(read_npz(written(bent))), "its sizes contradict each other");
  bent = good;
  bent[bent.find("PK\1\2") + 1] = 'x';
  expect_contains(problem_of(read_npz(written(bent))), "the archive's directory is damaged");
}

TEST_F(Npy, AnyDamageIsAnErrorAndNothingWorse) {
  std::mt19937 random(3);
  for (const char* name : {"deflated.npz", "stored.npz"}) {
    const std::string good = *read_file(kTestdata + name);
    for (int i = 0; i < 400; ++i) {
      std::string bent = good;
      for (auto n = random() % 3 + 1; n > 0; --n)
        bent[random() % bent.size()] = static_cast<char>(random());
      if (random() % 3 == 0) bent.resize(random() % bent.size() + 1);
      const auto tensors = read_npz(written(bent));
      EXPECT_TRUE(tensors || !tensors.error().empty());
    }
  }
}

TEST_F(Npy, AFullDiskIsReportedAndLeavesNothing) {
  struct rlimit old {};
  getrlimit(RLIMIT_FSIZE, &old);
  std::signal(SIGXFSZ, SIG_IGN);
  const struct rlimit small { 4096, old.rlim_max };
  setrlimit(RLIMIT_FSIZE, &small);
  const auto array = write_npy(path("a.npy"), counted(kFloat64, {10000}));
  const auto archive = write_npz(path("a.npz"), {{"a", counted(kFloat64, {10000})}});
  setrlimit(RLIMIT_FSIZE, &old);
  std::signal(SIGXFSZ, SIG_DFL);
  for (const auto* result : {&array, &archive}) {
    ASSERT_FALSE(*result);
    EXPECT_EQ(result->error().list.front().code, Code::kFileNotWritable);
    EXPECT_EQ(result->error().list.front().remedy,
              "make room on the disk, or choose another folder");
  }
  EXPECT_FALSE(read_file(path("a.npy")));
  EXPECT_FALSE(read_file(path("a.npz")));
}

}  // namespace
}  // namespace tessera
