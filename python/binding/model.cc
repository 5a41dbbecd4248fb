// SPDX-License-Identifier: Apache-2.0
#include "model.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "call.h"

namespace nb = nanobind;

namespace tessera::python {
namespace {

constexpr std::chrono::milliseconds kLookAround{100};  // for Ctrl-C, while a thread waits

// The first `ndim` numbers; None for a size that is not known.
nb::tuple sizes(const std::int64_t* numbers, std::int32_t ndim) {
  nb::list list;
  for (std::int32_t d = 0; d < ndim; ++d) {
    list.append(numbers[d] < 0 ? nb::object(nb::none()) : nb::object(nb::int_(numbers[d])));
  }
  return nb::tuple(list);
}

nb::tuple description(const tessera_io& io) {
  nb::list shares;
  for (std::int32_t i = 0; i < io.share_count; ++i) shares.append(io.shares[i]);
  return nb::make_tuple(io.name, sizes(io.shape, io.ndim), sizes(io.min_shape, io.ndim),
                        sizes(io.max_shape, io.ndim), nb::make_tuple(io.dtype.code, io.dtype.bits),
                        io.align_bytes, io.max_bytes, nb::tuple(shares));
}

}  // namespace

Model::Model(const std::string& path, InstanceOptions options)
    : library_(path), options_(std::move(options)) {
  const tessera_model_options wanted = TESSERA_MODEL_OPTIONS_INIT;
  std::int32_t status = TESSERA_OK;
  {
    const nb::gil_scoped_release unlocked;
    status = call().model_create(&wanted, &model_);
  }
  library_.check(status);
  try {
    read_ports();
    give(new_instance());  // what it lacks is told here, not by the first run
  } catch (...) {
    call().model_destroy(model_);
    throw;
  }
}

Model::~Model() {
  for (tessera_instance* instance : all_) call().instance_destroy(instance);
  call().model_destroy(model_);
}

void Model::read_ports() {
  const auto read = [this](std::vector<tessera_io>& ports, std::int32_t count, auto function) {
    ports.assign(static_cast<std::size_t>(count), TESSERA_IO_INIT);
    for (std::int32_t i = 0; i < count; ++i) {
      library_.check(function(model_, i, &ports[static_cast<std::size_t>(i)]));
    }
  };
  read(inputs_, call().model_input_count(model_), call().model_input);
  read(outputs_, call().model_output_count(model_), call().model_output);
  copies_.assign(inputs_.size(), Copies::kWarn);
  for (const tessera_io& out : outputs_) {
    fixed_shapes_.emplace_back(out.shape, out.shape + out.ndim);
    if (std::any_of(out.shape, out.shape + out.ndim, [](std::int64_t s) { return s < 0; })) {
      fixed_shapes_.clear();
      return;
    }
  }
}

tessera_instance* Model::new_instance() {
  tessera_instance_options wanted = TESSERA_INSTANCE_OPTIONS_INIT;
  wanted.threads = options_.threads;
  wanted.no_replay = options_.replay ? 0 : 1;
  wanted.thread_nice = options_.nice;
  wanted.profile = is_profiled_ ? 1 : 0;
  wanted.thread_cpus = options_.cpus.empty() ? nullptr : options_.cpus.data();
  wanted.thread_cpu_count = static_cast<std::int32_t>(options_.cpus.size());
  tessera_instance* made = nullptr;
  std::int32_t status = TESSERA_OK;
  {
    const nb::gil_scoped_release unlocked;
    status = call().instance_create(model_, &wanted, &made);
  }
  library_.check(status);
  const std::lock_guard lock(mutex_);
  all_.push_back(made);
  return made;
}

// For a while. The mutex is given back before the interpreter's lock is taken.
void Model::wait_for_one() {
  const nb::gil_scoped_release unlocked;
  std::unique_lock lock(mutex_);
  given_.wait_for(lock, kLookAround, [this] { return !free_.empty() || is_closed_; });
}

tessera_instance* Model::take() {
  while (true) {
    {
      const std::lock_guard lock(mutex_);
      if (is_closed_) throw CallFailed(TESSERA_INVALID_ARGUMENT, "the model is closed");
      if (!free_.empty()) {
        tessera_instance* instance = free_.back();
        free_.pop_back();
        return instance;
      }
      if (static_cast<int>(all_.size()) + being_made_ < options_.instances) break;
    }
    wait_for_one();
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
  }
  const auto count = [this](int more) {
    const std::lock_guard lock(mutex_);
    being_made_ += more;
  };
  count(1);
  try {
    tessera_instance* made = new_instance();
    count(-1);
    return made;
  } catch (...) {
    count(-1);
    throw;
  }
}

void Model::give(tessera_instance* instance) {
  {
    const std::lock_guard lock(mutex_);
    free_.push_back(instance);
  }
  given_.notify_one();
}

std::unique_lock<std::mutex> Model::when_idle() {
  std::unique_lock lock(mutex_);
  if (is_closed_) throw CallFailed(TESSERA_INVALID_ARGUMENT, "the model is closed");
  if (free_.size() != all_.size() || being_made_ != 0) {
    throw CallFailed(TESSERA_BUSY, "the model is running in another thread");
  }
  return lock;
}

void Model::close() {
  {
    const std::lock_guard lock(mutex_);
    if (is_closed_) return;
  }
  const auto lock = when_idle();
  is_closed_ = true;
  for (tessera_instance* instance : all_) call().instance_destroy(instance);
  all_.clear();
  free_.clear();
}

nb::list Model::describe(const std::string& what) const {
  nb::list ports;
  if (what == "input") {
    for (const tessera_io& io : inputs_) ports.append(description(io));
  } else if (what == "output") {
    for (const tessera_io& io : outputs_) ports.append(description(io));
  } else if (call().model_weight_count != nullptr) {
    for (std::int32_t i = 0; i < call().model_weight_count(model_); ++i) {
      tessera_io io = TESSERA_IO_INIT;
      library_.check(call().model_weight(model_, i, &io));
      ports.append(description(io));
    }
  }
  return ports;
}

tessera_memory Model::memory() {
  if (call().instance_memory == nullptr) {
    throw CallFailed(TESSERA_WRONG_ABI,
                     "the library is of an older compiler: it cannot say what memory it has");
  }
  const auto lock = when_idle();
  tessera_memory sum = TESSERA_MEMORY_INIT;
  for (tessera_instance* instance : all_) {
    tessera_memory one = TESSERA_MEMORY_INIT;
    library_.check(call().instance_memory(instance, &one));
    sum.constant_bytes = one.constant_bytes;  // of all instances together
    sum.pool_bytes += one.pool_bytes;
    sum.other_bytes += one.other_bytes;
    sum.pinned_bytes += one.pinned_bytes;
  }
  return sum;
}

void Model::profile(bool on) {
  const auto lock = when_idle();
  for (tessera_instance* instance : all_) {
    library_.check(call().instance_profile(instance, on ? 1 : 0));
  }
  is_profiled_ = on;
}

std::vector<tessera_profile_entry> Model::profile_entries() {
  const auto lock = when_idle();
  const auto count = static_cast<std::size_t>(call().instance_profile_count(all_.front()));
  std::vector<tessera_profile_entry> rows(count, TESSERA_PROFILE_ENTRY_INIT);
  for (std::size_t i = 0; i < count; ++i) {
    for (tessera_instance* instance : all_) {
      tessera_profile_entry one = TESSERA_PROFILE_ENTRY_INIT;
      library_.check(call().instance_profile_entry(instance, static_cast<std::int32_t>(i), &one));
      one.calls += rows[i].calls;
      one.total_ns += rows[i].total_ns;
      rows[i] = one;
    }
  }
  return rows;
}

void Model::set_weight(const std::string& name, nb::handle value) {
  if (call().instance_set_weight == nullptr) {
    throw CallFailed(TESSERA_WRONG_ABI,
                     "the library is of an older compiler: it has no weights "
                     "that can be set");
  }
  when_idle();  // a model that is closed or running is refused before anything is made
  // An instance that is made later would have the old values.
  while (static_cast<int>(all_.size()) < options_.instances) give(new_instance());
  std::optional<ArrayView> view;
  Copies copies = Copies::kSilent;
  if (!value.is_none()) view.emplace(usable(value, name.c_str(), 1, copies, nb::handle()));
  const auto lock = when_idle();
  for (tessera_instance* instance : all_) {
    library_.check(
        call().instance_set_weight(instance, name.c_str(), view ? &view->tensor() : nullptr));
  }
}

void Model::synchronize() {
  const std::vector<tessera_instance*> instances = (when_idle(), all_);
  for (tessera_instance* instance : instances) {
    std::int32_t status = TESSERA_OK;
    {
      const nb::gil_scoped_release unlocked;
      status = call().instance_synchronize(instance);
    }
    library_.check(status);
  }
}

}  // namespace tessera::python
