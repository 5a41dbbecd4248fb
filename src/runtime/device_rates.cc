// SPDX-License-Identifier: Apache-2.0
// What an instance's device can do at most: copies in its memory, and products in its registers.
#include <algorithm>

#include "runtime/device_run.h"
#include "runtime/device_scope.h"
#include "runtime/versioned.h"

namespace tessera::runtime {
namespace {

constexpr std::uint64_t kMostBytes = 256 << 20, kLeastBytes = 64 << 10;  // no cache has the former
constexpr int kRepeats = 5;                                              // the fastest counts

class RateMeter {
 public:
  explicit RateMeter(const tessera_device_api& api) : api_(api) {}
  ~RateMeter() {
    if (memory_ != nullptr) api_.release(memory_);
    if (products_ != nullptr) api_.destroy_products(products_);
    for (void* event : {begin_, end_}) {
      if (event != nullptr) api_.destroy_event(event);
    }
    if (stream_ != nullptr) api_.destroy_stream(stream_);
  }
  RateMeter(const RateMeter&) = delete;
  RateMeter& operator=(const RateMeter&) = delete;

  std::int32_t measure(tessera_rates* rates) {
    std::int32_t status = api_.create_stream(&stream_, &error_);
    if (status == TESSERA_OK) status = api_.create_event(&begin_, &error_);
    if (status == TESSERA_OK) status = api_.create_event(&end_, &error_);
    if (status == TESSERA_OK) status = api_.create_products(&products_, &error_);
    if (status == TESSERA_OK) status = measure_copies(&rates->bytes_per_second);
    if (status == TESSERA_OK) status = measure_products(0, &rates->float32_flops_per_second);
    if (status == TESSERA_OK) status = measure_products(1, &rates->float16_flops_per_second);
    return status == TESSERA_OK ? status : fail_on_device(status, error_);
  }

 private:
  // `work` puts *amount of something into the stream.
  template <class F>
  std::int32_t measure(F&& work, double* rate) {
    for (int i = 0; i <= kRepeats; ++i) {
      std::uint64_t amount = 0, ns = 0;
      std::int32_t status = api_.record_event(begin_, stream_, &error_);
      if (status == TESSERA_OK) status = work(&amount);
      if (status == TESSERA_OK) status = api_.record_event(end_, stream_, &error_);
      if (status == TESSERA_OK) status = api_.synchronize(stream_, &error_);
      if (status == TESSERA_OK) status = api_.elapsed_ns(begin_, end_, &ns, &error_);
      if (status != TESSERA_OK) return status;
      if (i == 0 || ns == 0) continue;  // the first one finds nothing ready
      *rate = std::max(*rate, 1e9 * static_cast<double>(amount) / static_cast<double>(ns));
    }
    return TESSERA_OK;
  }

  // As large as there is memory for.
  std::int32_t measure_copies(double* rate) {
    std::uint64_t bytes = kMostBytes;
    std::int32_t status = api_.allocate(2 * bytes, &memory_, &error_);
    while (status == TESSERA_OUT_OF_MEMORY && bytes > kLeastBytes) {
      bytes /= 2;
      status = api_.allocate(2 * bytes, &memory_, &error_);
    }
    if (status != TESSERA_OK) return status;
    return measure(
        [&](std::uint64_t* amount) {
          *amount = 2 * bytes;
          return api_.copy(static_cast<std::byte*>(memory_) + bytes, memory_, bytes, stream_,
                           &error_);
        },
        rate);
  }

  std::int32_t measure_products(std::int32_t of_float16, double* rate) {
    return measure(
        [&](std::uint64_t* flops) {
          return api_.multiply(products_, of_float16, stream_, flops, &error_);
        },
        rate);
  }

  const tessera_device_api& api_;
  tessera_device_error error_ = {};
  void *stream_ = nullptr, *begin_ = nullptr, *end_ = nullptr;
  void *products_ = nullptr, *memory_ = nullptr;
};

}  // namespace
}  // namespace tessera::runtime

int32_t tessera_instance_rates(tessera_instance* instance, tessera_rates* rates) {
  using namespace tessera::runtime;
  if (rates == nullptr) return fail(TESSERA_INVALID_ARGUMENT, "`rates` is a null pointer");
  return alone(instance, [&]() -> std::int32_t {
    tessera_rates all = TESSERA_RATES_INIT;
    if (const tessera_device_api* api = instance->work.api) {
      const DeviceScope scope(api, instance->device);
      if (std::int32_t status = wait_for_device(*instance)) return status;
      if (std::int32_t status = RateMeter(*api).measure(&all)) return status;
    }
    return copy_versioned(all, rates, "tessera_rates");
  });
}
