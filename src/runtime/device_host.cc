// SPDX-License-Identifier: Apache-2.0
// What the CPU does for a program on a device: functions that exist for it alone and kernels that
// find sizes, with copies of what the device has, and the scalars that branches and loops depend
// on.
#include <algorithm>
#include <cstddef>

#include "runtime/arguments.h"
#include "runtime/device_run.h"

namespace tessera::runtime {
namespace {

constexpr std::uint64_t kCopyAlign = 64;
constexpr std::uint64_t kSentBytes = 16 << 10;  // some hundred lists of sizes
std::uint64_t padded(std::uint64_t bytes) {
  return (bytes + kCopyAlign - 1) / kCopyAlign * kCopyAlign;
}

std::uint64_t padded_sum(const std::int64_t* bytes, std::int32_t count) {
  std::uint64_t sum = 0;
  for (std::int32_t i = 0; i < count; ++i) sum += padded(static_cast<std::uint64_t>(bytes[i]));
  return sum;
}

std::uint64_t bytes_of(const tessera_tensor& t) { return compact_bytes(t.dtype, t.ndim, t.shape); }

// The CPU's part of a run: pieces of one pinned block, which stays for later runs, and copies
// between them and the device's memory. What gives a status has told the run's error.
class HostPart {
 public:
  explicit HostPart(const tessera_frame& frame)
      : frame_(frame),
        instance_(*static_cast<tessera_instance*>(frame.instance)),
        api_(*instance_.work.api) {}

  // While the caller records the stream the host cannot wait for what is in it.
  std::int32_t check_may_wait() const {
    return check_not_captured(
        "the stream is being captured, but the program reads data of the device to go on: "
        "run it outside of the capture");
  }
  // What a replay would send is no longer there then.
  std::int32_t check_may_send() const {
    return check_not_captured(
        "the stream is being captured, but the program sends numbers that the host computes: run "
        "it outside of the capture");
  }

  // Room for pieces of `bytes` in all, each padded(), in place of those there are.
  std::int32_t reserve(std::uint64_t bytes) {
    Block& copies = instance_.work.copies;
    if (std::int32_t status = grow(&copies, bytes, "tensors that the CPU reads")) return status;
    next_ = static_cast<std::byte*>(copies.data);
    return TESSERA_OK;
  }
  void* piece(std::uint64_t bytes) {
    void* const begin = next_;
    next_ += padded(bytes);
    return begin;
  }

  // The same for what goes to the device: the pieces stay until it is there.
  std::int32_t reserve_to_send(std::uint64_t bytes) {
    DeviceWork& work = instance_.work;
    if (work.sent_bytes + bytes <= work.sent.bytes) return TESSERA_OK;
    if (std::int32_t status = wait()) return status;
    work.sent_bytes = 0;
    return grow(&work.sent, std::max(bytes, kSentBytes), "numbers that the CPU sends");
  }
  void* piece_to_send(std::uint64_t bytes) {
    DeviceWork& work = instance_.work;
    void* const begin = static_cast<std::byte*>(work.sent.data) + work.sent_bytes;
    work.sent_bytes += padded(bytes);
    return begin;
  }

  // After what is in the run's stream.
  std::int32_t copy(void* to, const void* from, std::uint64_t bytes) const {
    if (bytes == 0) return TESSERA_OK;
    tessera_device_error error = {};
    return told(api_.copy(to, from, bytes, frame_.call->stream, &error), error.text);
  }
  // What depends on an index that lies outside may never end.
  std::int32_t find_fault() const {
    char text[kErrorBytes];
    return told(read_fault(instance_, text), text);
  }
  std::int32_t wait() const {
    tessera_device_error error = {};
    return told(api_.synchronize(frame_.call->stream, &error), error.text);
  }

 private:
  std::int32_t check_not_captured(const char* sentence) const {
    if (api_.is_capturing(frame_.call->stream) == 0) return TESSERA_OK;
    return told(TESSERA_INVALID_ARGUMENT, sentence);
  }
  std::int32_t grow(Block* block, std::uint64_t bytes, const char* what) {
    if (block->bytes >= bytes) return TESSERA_OK;
    release_block(instance_, block);
    const std::int32_t status =
        allocate_block(instance_, pinned(instance_), bytes, kCopyAlign, what, block);
    return told(status, tessera_last_error());
  }
  std::int32_t told(std::int32_t status, const char* text) const {
    if (status != TESSERA_OK) set_run_error(instance_, status, text);
    return status;
  }

  const tessera_frame& frame_;
  tessera_instance& instance_;
  const tessera_device_api& api_;
  std::byte* next_ = nullptr;
};

tessera_call on_cpu(const tessera_call& call) {
  tessera_call on_host = call;
  on_host.device = {TESSERA_CPU, 0};
  on_host.stream = nullptr;
  return on_host;
}

}  // namespace
}  // namespace tessera::runtime

int32_t tessera_kernel_on_host(const tessera_frame* frame, tessera_kernel_fn fn,
                               void* const* buffers, const int64_t* bytes, int32_t inputs,
                               int32_t count, const int64_t* dims) {
  using namespace tessera::runtime;
  const tessera_call call = on_cpu(*frame->call);
  const std::uint64_t read = padded_sum(bytes, inputs);
  const std::uint64_t sent = padded_sum(bytes + inputs, count - inputs);
  if (read + sent == 0) return fn(buffers, dims, &call);
  HostPart host(*frame);
  const std::uint64_t list_bytes = static_cast<std::uint64_t>(count) * sizeof(void*);
  std::int32_t status = read > 0 ? host.check_may_wait() : host.check_may_send();
  if (status == TESSERA_OK) status = host.reserve(padded(list_bytes) + read);
  if (status == TESSERA_OK) status = host.reserve_to_send(sent);
  if (status != TESSERA_OK) return status;
  auto* const list = static_cast<void**>(host.piece(list_bytes));
  for (std::int32_t i = 0; i < count; ++i) {
    const auto size = static_cast<std::uint64_t>(bytes[i]);
    list[i] = size == 0 ? buffers[i] : i < inputs ? host.piece(size) : host.piece_to_send(size);
    if (i < inputs && size > 0) status = host.copy(list[i], buffers[i], size);
    if (status != TESSERA_OK) return status;
  }
  if (read > 0) status = host.wait();
  if (status == TESSERA_OK) status = fn(list, dims, &call);
  for (std::int32_t i = inputs; status == TESSERA_OK && i < count; ++i) {
    status = host.copy(buffers[i], list[i], static_cast<std::uint64_t>(bytes[i]));
  }
  return status;
}

int32_t tessera_call_on_host(const tessera_frame* frame, tessera_backend_fn fn,
                             const tessera_call* call, tessera_tensor** tensors, int32_t inputs,
                             int32_t count) {
  using namespace tessera::runtime;
  HostPart host(*frame);
  if (std::int32_t status = host.check_may_wait()) return status;
  const auto size = static_cast<std::uint64_t>(count);
  const std::uint64_t list_bytes = size * sizeof(tessera_tensor*);
  const std::uint64_t tensor_bytes = size * sizeof(tessera_tensor);
  std::uint64_t all = padded(list_bytes) + padded(tensor_bytes) + padded(call->workspace_bytes);
  for (std::int32_t i = 0; i < count; ++i) all += padded(bytes_of(*tensors[i]));
  if (std::int32_t status = host.reserve(all)) return status;
  auto* const list = static_cast<tessera_tensor**>(host.piece(list_bytes));
  auto* const copies = static_cast<tessera_tensor*>(host.piece(tensor_bytes));
  for (std::int32_t i = 0; i < count; ++i) {
    const std::uint64_t bytes = bytes_of(*tensors[i]);
    tessera_tensor& t = copies[i] = *tensors[i];
    t.device = {TESSERA_CPU, 0};
    t.data = host.piece(bytes);
    list[i] = &t;
    if (i >= inputs) continue;
    if (std::int32_t status = host.copy(t.data, tensors[i]->data, bytes)) return status;
  }
  if (std::int32_t status = host.wait()) return status;
  tessera_call on_host = on_cpu(*call);
  if (call->workspace_bytes > 0) on_host.workspace = host.piece(call->workspace_bytes);
  if (std::int32_t status = fn(&on_host, list, count)) return status;
  for (std::int32_t i = inputs; i < count; ++i) {
    void* const result = tensors[i]->data;
    if (std::int32_t status = host.copy(result, copies[i].data, bytes_of(copies[i]))) return status;
  }
  return host.wait();
}

int32_t tessera_flag(const tessera_frame* frame, const void* scalar, int32_t* status) {
  using namespace tessera::runtime;
  const HostPart host(*frame);
  void* const flag = static_cast<tessera_instance*>(frame->instance)->work.flag.data;
  *status = host.check_may_wait();
  if (*status == TESSERA_OK) *status = host.copy(flag, scalar, 1);
  if (*status == TESSERA_OK) *status = host.wait();
  if (*status == TESSERA_OK) *status = host.find_fault();
  return *status == TESSERA_OK && *static_cast<const std::uint8_t*>(flag) != 0 ? 1 : 0;
}

int32_t tessera_set_flag(const tessera_frame* frame, void* scalar, int32_t value) {
  using namespace tessera::runtime;
  const HostPart host(*frame);
  void* const flag = static_cast<tessera_instance*>(frame->instance)->work.flag.data;
  if (std::int32_t status = host.check_may_wait()) return status;
  *static_cast<std::uint8_t*>(flag) = static_cast<std::uint8_t>(value);
  if (std::int32_t status = host.copy(scalar, flag, 1)) return status;
  return host.wait();  // the next flag goes through the same place
}
