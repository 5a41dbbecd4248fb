// SPDX-License-Identifier: Apache-2.0
#include "tests/guard/hostile.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>

#include "support/check.h"
#include "support/f16.h"

namespace tessera::guard {
namespace {

// Whole vectors of every length, one more and one less, and what is no multiple of anything.
constexpr std::int64_t kSizes[] = {0, 1, 1, 2, 2, 3, 4, 5, 7, 8, 9, 13, 16, 17, 31, 33, 64};
// So large that nothing can loop over them, beside a size that is zero.
constexpr std::int64_t kHugeSizes[] = {0, 0, 3, 1ll << 61, 1ll << 62, INT64_MAX};
constexpr std::int64_t kMostElements = 1 << 20;  // of a tensor

// Nothing of the kind that is a size which loops reach in minutes.
constexpr std::int64_t kWildInts[] = {0,         1,         -1, 2,  255,     -129,
                                      INT64_MAX, INT64_MIN, 3,  -7, -100000, 1ll << 62};
constexpr double kWildFloats[] = {NAN, INFINITY, -INFINITY, 1e30, -1e30, 0.0, -0.0, 3e9, 1e-40};

template <class T, std::size_t N>
T one_of(const T (&values)[N], Random& random) {
  return values[random() % N];
}

// `fixed` are sizes that the model states elsewhere: open ones may have to be the same.
std::int64_t hostile_size(std::int64_t least, std::int64_t most, const Ints& fixed,
                          Random& random) {
  least = std::max<std::int64_t>(least, 0);
  std::int64_t size = random() % 8 == 0 ? least : one_of(kSizes, random);
  if (!fixed.empty() && random() % 3 == 0) size = fixed[random() % fixed.size()];
  if (most >= 0) size = std::min(size, random() % 4 == 0 ? most : size);
  return most >= 0 ? std::clamp(size, least, std::max(least, most)) : std::max(size, least);
}

// A tensor too large to be had gets the least of its open sizes.
void make_affordable(const Port& port, Ints& shape) {
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return;
  std::int64_t elements = 1;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (port.io.shape[d] < 0 && shape[d] > kMostElements / elements) {
      shape[d] = std::max<std::int64_t>(port.io.min_shape[d], 1);
    }
    elements *= shape[d];
  }
}

std::int64_t int_value(Data data, Random& random) {
  if (data == Data::kTame) return static_cast<std::int64_t>(random() % 4);
  if (data == Data::kNear) return static_cast<std::int64_t>(random() % 40) - 20;
  return one_of(kWildInts, random);
}
double float_value(Data data, Random& random) {
  if (data == Data::kWild && random() % 8 == 0) return one_of(kWildFloats, random);
  const double tame = (static_cast<double>(random() % 2001) - 1000) / 300;
  return data == Data::kNear ? std::round(tame * 8) : tame;
}

// The nearest one that an integer of the type can be; of those without sign the bits count.
std::int64_t limited(std::int64_t value, tessera_dtype dtype) {
  if (dtype.bits >= 64 || dtype.code != TESSERA_INT) return value;
  const std::int64_t end = std::int64_t{1} << (dtype.bits - 1);
  return std::clamp(value, -end, end - 1);
}

template <class T>
void put(std::byte* at, T value) {
  std::memcpy(at, &value, sizeof value);
}

void put_float(std::byte* at, tessera_dtype dtype, double value) {
  if (dtype.bits == 64) return put(at, value);
  if (dtype.bits == 32) return put(at, static_cast<float>(value));
  put(at, dtype.code == TESSERA_BFLOAT ? narrow_float<8, 7>(value) : narrow_float<5, 10>(value));
}

}  // namespace

std::string to_string(Sizes sizes) {
  switch (sizes) {
    case Sizes::kAgreeing:
      return "agreeing";
    case Sizes::kEqual:
      return "equal";
    case Sizes::kAny:
      return "any";
    case Sizes::kHuge:
      return "huge";
  }
  return "";
}
std::string to_string(Data data) {
  return data == Data::kTame ? "tame" : data == Data::kNear ? "near" : "wild";
}

std::vector<Ints> hostile_shapes(const std::vector<Port>& inputs, Sizes sizes, Random& random) {
  std::map<std::string, std::int64_t> chosen;
  Ints fixed;
  for (const Port& port : inputs) {
    std::copy_if(port.io.shape, port.io.shape + port.io.ndim, std::back_inserter(fixed),
                 [](std::int64_t size) { return size >= 0; });
  }
  std::vector<Ints> shapes;
  for (const Port& port : inputs) {
    Ints& shape = shapes.emplace_back();
    for (std::int32_t d = 0; d < port.io.ndim; ++d) {
      std::int64_t size = port.io.shape[d];
      if (size < 0) {
        const std::int64_t least = port.io.min_shape[d], most = port.io.max_shape[d];
        size = sizes == Sizes::kHuge ? one_of(kHugeSizes, random)
                                     : hostile_size(least, most, fixed, random);
        const std::string name =
            sizes == Sizes::kEqual ? "" : port.shape[static_cast<std::size_t>(d)];
        if (sizes != Sizes::kAny) size = chosen.try_emplace(name, size).first->second;
      }
      shape.push_back(size);
    }
    make_affordable(port, shape);
  }
  return shapes;
}

void fill(std::span<std::byte> memory, tessera_dtype dtype, Data data, Random& random) {
  const std::size_t size = (std::size_t{dtype.bits} + 7) / 8;
  for (std::size_t at = 0; at + size <= memory.size(); at += size) {
    std::byte* element = memory.data() + at;
    if (dtype.code == TESSERA_FLOAT || dtype.code == TESSERA_BFLOAT) {
      put_float(element, dtype, float_value(data, random));
    } else if (dtype.code == TESSERA_BOOL) {
      put(element, static_cast<std::uint8_t>(random() & 1));
    } else {
      const std::int64_t value = limited(int_value(data, random), dtype);
      std::memcpy(element, &value, size);  // the low bytes of a little-endian number
    }
  }
}

}  // namespace tessera::guard
