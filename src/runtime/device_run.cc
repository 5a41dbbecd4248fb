// SPDX-License-Identifier: Apache-2.0
#include "runtime/device_run.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "runtime/arguments.h"
#include "runtime/device_scope.h"
#include "runtime/outputs.h"
#include "runtime/overlap.h"
#include "runtime/profile.h"

namespace tessera::runtime {
namespace {

constexpr std::uint64_t kDeviceAlign = 16;  // of tensors: what one access of a kernel takes

bool is_host(tessera_device device) {
  return device.device_type == TESSERA_CPU || device.device_type == TESSERA_CUDA_HOST;
}
bool same(tessera_device a, tessera_device b) {
  return a.device_type == b.device_type && a.device_id == b.device_id;
}

}  // namespace

// One run, from the caller's tensors to the caller's tensors.
class DeviceRun {
 public:
  // `waits`: host tensors are allowed, and results are there when it returns.
  DeviceRun(tessera_instance& instance, void* stream, bool waits)
      : instance_(instance),
        work_(instance.work),
        program_(*instance.model->program),
        stream_(stream),
        waits_(waits),
        capturing_(!waits && instance.work.api->is_capturing(stream) != 0) {
    work_.run = this;
  }
  DeviceRun(const DeviceRun&) = delete;
  DeviceRun& operator=(const DeviceRun&) = delete;
  ~DeviceRun() { work_.run = nullptr; }

  std::int32_t run(const tessera_tensor* inputs, std::int32_t input_count, tessera_tensor* outputs,
                   std::int32_t output_count) {
    if (program_.entry == nullptr) {
      return fail(TESSERA_INVALID_ARGUMENT,
                  "this is a library of kernels; it has no program to run");
    }
    if (capturing_ && work_.unrecorded != nullptr) {
      return fail(TESSERA_INVALID_ARGUMENT,
                  "the stream is being captured, and `%s` must not be recorded, as its back end "
                  "says: run on another stream",
                  work_.unrecorded->symbol);
    }
    std::int32_t status = bind_shapes(program_, inputs, input_count, instance_.dims.data());
    if (status == TESSERA_OK) status = check_outputs(program_, outputs, output_count);
    if (status == TESSERA_OK) status = begin();
    for (std::int32_t i = 0; status == TESSERA_OK && i < input_count; ++i) {
      status = bind_one_input(i, inputs[i]);
    }
    if (status == TESSERA_OK) status = bind_outputs(inputs, outputs);
    if (status == TESSERA_OK) status = compute(inputs);
    if (status == TESSERA_OK && waits_) status = copy_back();
    if (status == TESSERA_OK) hand_back(outputs);
    return status;
  }

  // Until nothing uses memory any more that `what` needs more of.
  std::int32_t wait_before_release(const char* what) {
    if (capturing_) {
      return fail(TESSERA_INVALID_ARGUMENT,
                  "memory for %s is needed while the stream is being captured: run once before, "
                  "or give a tensor for it",
                  what);
    }
    return check(work_.api->synchronize(stream_, &error_));
  }

  std::int32_t reserve_output(std::int32_t i) {
    tessera_tensor& result = instance_.output_tensors[i];
    if (std::int32_t status = bind_output(i, instance_.given_outputs[i], result.shape)) {
      return status;
    }
    result.data = instance_.outputs[i];
    return TESSERA_OK;
  }

 private:
  // After what another stream still does. What an earlier run has found is told before anything
  // is done.
  std::int32_t begin() {
    if (capturing_ || !work_.has_run) return TESSERA_OK;
    if (std::int32_t status = take_fault(instance_)) return status;
    return check(work_.api->wait_event(work_.end, stream_, &error_));
  }

  std::int32_t check(std::int32_t status) const {
    return status == TESSERA_OK ? status : fail_on_device(status, error_);
  }

  // At least `bytes` in a block of the device or pinned, for what `kind` and `name` tell.
  std::int32_t reserve(Block* block, tessera_device device, std::uint64_t bytes, const char* kind,
                       const char* name) {
    if (block->bytes >= bytes) return TESSERA_OK;
    char what[200];
    std::snprintf(what, sizeof what, "%s `%s`", kind, name);
    if (block->data != nullptr || capturing_) {
      if (std::int32_t status = wait_before_release(what)) return status;
    }
    release_block(instance_, block);
    return allocate_block(instance_, device, bytes, 256, what, block);
  }

  // That data are where the tensor says.
  std::int32_t check_place(const char* kind, const char* name, const tessera_tensor& t) const {
    if (!waits_ && is_host(t.device)) {
      return fail(TESSERA_INVALID_ARGUMENT,
                  "%s `%s` is in host memory, and tessera_instance_run_on_stream takes tensors of "
                  "the device: copy it there, or call tessera_instance_run",
                  kind, name);
    }
    return runtime::check_place(instance_, kind, name, t);
  }

  std::int32_t bind_one_input(std::int32_t i, const tessera_tensor& input) {
    const tessera_program_io& io = program_.inputs[i];
    const bool host = is_host(input.device);
    const std::uint64_t align = !host ? kDeviceAlign : io.on_host != 0 ? io_align_bytes(io) : 1;
    if (std::int32_t status = bind_input("input", io, input, align, &instance_.inputs[i])) {
      return status;
    }
    const std::uint64_t bytes = compact_bytes(io.dtype, input.ndim, input.shape);
    if (bytes == 0) return TESSERA_OK;
    if (io.on_host != 0) {
      const std::int32_t status = runtime::check_place(instance_, "input", io.name, input);
      return status != TESSERA_OK || host ? status : fetch(i, instance_.inputs[i], bytes);
    }
    if (std::int32_t status = check_place("input", io.name, input)) return status;
    return host ? send(i, instance_.inputs[i], input.shape) : std::int32_t{TESSERA_OK};
  }

  // From the device, for the host to read.
  std::int32_t fetch(std::int32_t i, const void* data, std::uint64_t bytes) {
    const char* name = program_.inputs[i].name;
    if (capturing_) {
      return fail(TESSERA_INVALID_ARGUMENT,
                  "input `%s` says sizes, which the host reads, and is on the device, whose stream "
                  "is being captured: give it in host memory, or run outside of the capture",
                  name);
    }
    Block& here = work_.inputs[i];
    if (std::int32_t status = reserve(&here, pinned(instance_), bytes, "input", name)) {
      return status;
    }
    instance_.inputs[i] = here.data;
    const std::int32_t status = check(work_.api->copy(here.data, data, bytes, stream_, &error_));
    return status != TESSERA_OK ? status : check(work_.api->synchronize(stream_, &error_));
  }

  // Where inputs stay the same: what earlier runs have sent, each as far as all of it got there.
  bool was_sent(std::int32_t i, const Range& given) const {
    if (work_.sent_inputs.size() == 0) return false;
    const Range& sent = work_.sent_inputs[i];
    return sent.begin == given.begin && sent.bytes == given.bytes;
  }
  void remember_sent(std::int32_t i, const Range& given) {
    if (work_.sent_inputs.size() != 0) work_.sent_inputs[i] = given;
  }

  // Through pinned memory, unless it is pinned already.
  std::int32_t send(std::int32_t i, const void* data, const std::int64_t* shape) {
    const tessera_program_io& io = program_.inputs[i];
    const std::uint64_t bytes = compact_bytes(io.dtype, io.ndim, shape);
    const std::uint64_t most = bound_bytes(io, shape);
    if (std::int32_t status = reserve(&work_.inputs[i], instance_.device, most, "input", io.name)) {
      return status;
    }
    instance_.inputs[i] = work_.inputs[i].data;
    const Range given = {reinterpret_cast<std::uintptr_t>(data), bytes};
    if (was_sent(i, given)) return TESSERA_OK;
    remember_sent(i, {0, 0});
    if (work_.api->place_of(data).device_type != TESSERA_CUDA_HOST) {
      Block& staging = work_.staging[i];
      if (std::int32_t status =
              reserve(&staging, pinned(instance_), most, "staging of input", io.name)) {
        return status;
      }
      std::memcpy(staging.data, data, bytes);
      data = staging.data;
    }
    if (std::int32_t status =
            check(work_.api->copy(work_.inputs[i].data, data, bytes, stream_, &error_))) {
      return status;
    }
    remember_sent(i, given);
    return TESSERA_OK;
  }

  std::int32_t bind_outputs(const tessera_tensor* inputs, const tessera_tensor* outputs) {
    std::int64_t* shape = instance_.output_shapes.data();
    output_shapes(program_, instance_.dims.data(), shape);
    instance_.given_outputs = outputs;
    for (std::int32_t i = 0; i < program_.output_count; ++i) {
      if (std::int32_t status = check_given(i, outputs[i])) return status;
    }
    if (std::int32_t status = check_overlaps(instance_, inputs, outputs, shape)) return status;
    for (std::int32_t i = 0; i < program_.output_count; ++i) {
      const tessera_program_io& io = program_.outputs[i];
      instance_.output_tensors[i] = {nullptr, instance_.device, io.ndim, io.dtype,
                                     shape,   nullptr,          0};
      instance_.outputs[i] = nullptr;
      work_.host_copies[i] = nullptr;
      if (!depends_on_data(io, shape)) {
        if (std::int32_t status = reserve_output(i)) return status;
      }
      shape += io.ndim;
    }
    return TESSERA_OK;
  }

  // What can be said of the caller's tensor before the result's shape is known.
  std::int32_t check_given(std::int32_t i, const tessera_tensor& output) const {
    if (is_own_output(instance_, i, output)) return TESSERA_OK;
    const tessera_program_io& io = program_.outputs[i];
    if (std::int32_t status = check_place("output", io.name, output)) return status;
    return check_layout(io, output, is_host(output.device) ? 1 : kDeviceAlign);
  }

  std::int32_t bind_output(std::int32_t i, const tessera_tensor& output,
                           const std::int64_t* shape) {
    const tessera_program_io& io = program_.outputs[i];
    work_.host_copies[i] = nullptr;
    const bool own = is_own_output(instance_, i, output);
    if (!own) {
      if (std::int32_t status = check_room(io, output, shape)) return status;
      void* data = static_cast<char*>(output.data) + output.byte_offset;
      if (!is_host(output.device)) {
        instance_.outputs[i] = data;
        return TESSERA_OK;
      }
      work_.host_copies[i] = data;
    }
    std::uint64_t most = 0;
    if (std::int32_t status = own_output_bytes(io, shape, &most)) return status;
    if (std::int32_t status =
            reserve(&work_.outputs[i], instance_.device, most, "output", io.name)) {
      return status;
    }
    instance_.outputs[i] = work_.outputs[i].data;
    const bool stays = !waits_ || output.device.device_type == TESSERA_CUDA;
    if (!own || stays) return TESSERA_OK;
    Block& result = instance_.own_outputs[i];
    if (std::int32_t status = reserve(&result, pinned(instance_), most, "output", io.name)) {
      return status;
    }
    work_.host_copies[i] = result.data;
    return TESSERA_OK;
  }

  std::int32_t compute(const tessera_tensor* inputs) {
    const tessera_frame frame = frame_of(instance_, inputs, work_.library->constants.data());
    clear_run_error(instance_);
    if (instance_.profiling) start_device_profile(instance_);
    if (!capturing_) {
      if (std::int32_t status = check(work_.api->record_event(work_.begin, stream_, &error_))) {
        return status;
      }
    }
    const std::int32_t status = enqueue_program(instance_, frame, stream_);
    if (capturing_) return status;
    work_.has_run = true;
    const std::int32_t recorded = work_.api->record_event(work_.end, stream_, &error_);
    return status != TESSERA_OK ? status : check(recorded);
  }

  std::int32_t copy_back() {
    for (std::int32_t i = 0; i < program_.output_count; ++i) {
      void* to = work_.host_copies[i];
      const std::uint64_t bytes = bytes_of(i);
      if (to == nullptr || bytes == 0) continue;
      if (to != instance_.own_outputs[i].data &&
          work_.api->place_of(to).device_type != TESSERA_CUDA_HOST) {
        Block& staging = work_.staging[staging_of_output(i)];
        const char* name = program_.outputs[i].name;
        if (std::int32_t status =
                reserve(&staging, pinned(instance_), bytes, "staging of output", name)) {
          return status;
        }
        to = staging.data;
      }
      if (std::int32_t status =
              check(work_.api->copy(to, instance_.outputs[i], bytes, stream_, &error_))) {
        return status;
      }
    }
    if (std::int32_t status = check(work_.api->synchronize(stream_, &error_))) return status;
    work_.sent_bytes = 0;
    if (std::int32_t status = take_fault(instance_)) return status;
    for (std::int32_t i = 0; i < program_.output_count; ++i) {
      const Block& staging = work_.staging[staging_of_output(i)];
      void* to = work_.host_copies[i];
      const bool staged = to != nullptr && to != instance_.own_outputs[i].data &&
                          work_.api->place_of(to).device_type != TESSERA_CUDA_HOST;
      if (staged) std::memcpy(to, staging.data, bytes_of(i));
    }
    return instance_.profiling ? finish_device_profile(instance_) : std::int32_t{TESSERA_OK};
  }

  // After those of the inputs.
  std::size_t staging_of_output(std::int32_t i) const {
    return static_cast<std::size_t>(program_.input_count) + static_cast<std::size_t>(i);
  }

  std::uint64_t bytes_of(std::int32_t i) const {
    const tessera_tensor& t = instance_.output_tensors[i];
    return compact_bytes(t.dtype, t.ndim, t.shape);
  }

  // Tells the caller what the outputs are.
  void hand_back(tessera_tensor* outputs) const {
    for (std::int32_t i = 0; i < program_.output_count; ++i) {
      tessera_tensor result = instance_.output_tensors[i];
      if (work_.host_copies[i] != nullptr) {
        result.data = work_.host_copies[i];
        result.device = pinned(instance_);
      }
      const bool own =
          result.data == instance_.own_outputs[i].data || result.data == work_.outputs[i].data;
      if (own) {
        outputs[i] = result;
      } else {
        tell_shape(result, &outputs[i]);
      }
    }
  }

  tessera_instance& instance_;
  DeviceWork& work_;
  const tessera_program& program_;
  void* stream_;
  const bool waits_, capturing_;
  mutable tessera_device_error error_ = {};
};

std::int32_t wait_before_release(tessera_instance& instance) {
  return instance.work.run->wait_before_release("a tensor of unbounded size");
}

std::int32_t reserve_device_output(tessera_instance& instance, std::int32_t i) {
  return instance.work.run->reserve_output(i);
}

std::int32_t check_place(const tessera_instance& instance, const char* kind, const char* name,
                         const tessera_tensor& t) {
  if (!is_host(t.device) && !same(t.device, instance.device)) {
    return fail(TESSERA_INVALID_ARGUMENT, "%s `%s` is on %s, the instance on %s", kind, name,
                name_of(t.device).text, name_of(instance.device).text);
  }
  const tessera_device place = instance.work.api->place_of(t.data);
  const bool host = is_host(place);
  if (host == is_host(t.device)) {
    if (host || same(place, instance.device)) return TESSERA_OK;
    return fail(TESSERA_INVALID_ARGUMENT,
                "%s `%s` is said to be on the instance's device, %d, but its data are on device %d",
                kind, name, instance.device.device_id, place.device_id);
  }
  return fail(TESSERA_INVALID_ARGUMENT,
              "%s `%s` is said to be %s, but its data are %s: set `device` of the tensor", kind,
              name, host ? "on the device" : "in host memory",
              host ? "in host memory" : "on the device");
}

std::int32_t run_on_device(tessera_instance& instance, const tessera_tensor* inputs,
                           std::int32_t input_count, tessera_tensor* outputs,
                           std::int32_t output_count) {
  const DeviceScope scope(instance.work.api, instance.device);
  return DeviceRun(instance, instance.work.stream, true)
      .run(inputs, input_count, outputs, output_count);
}

std::int32_t run_on_stream(tessera_instance& instance, void* stream, const tessera_tensor* inputs,
                           std::int32_t input_count, tessera_tensor* outputs,
                           std::int32_t output_count) {
  const DeviceScope scope(instance.work.api, instance.device);
  return DeviceRun(instance, stream, false).run(inputs, input_count, outputs, output_count);
}

}  // namespace tessera::runtime
