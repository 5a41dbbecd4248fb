// SPDX-License-Identifier: Apache-2.0
#include "schedule/schedule.h"

#include <algorithm>
#include <charconv>

#include "lower/main.h"
#include "schedule/constant_maker.h"
#include "schedule/device.h"
#include "schedule/kernel_scheduler.h"
#include "schedule/neighbouring_channels.h"
#include "schedule/rows.h"
#include "schedule/rules.h"
#include "tir/conditions.h"
#include "tir/simplify.h"
#include "tir/walk.h"

namespace tessera::schedule {
namespace {

using tir::Stmt;

class HostScheduler final : public KernelScheduler {
 public:
  HostScheduler(const Stmt& body, const Machine& machine, const std::vector<tir::Buffer>& constants)
      : KernelScheduler(body), machine_(machine), constants_(constants) {}

 private:
  std::optional<Contraction> product(std::span<const Stmt> nests) override {
    auto found = schedule_packed_product(nests[0], machine_);
    const Surroundings around{in_.temporaries, constants_};
    if (!found) found = schedule_winograd(nests, around, machine_);
    if (!found) found = schedule_contraction(nests, around, machine_);
    if (!found) return std::nullopt;
    for (Stmt& s : found->nests) s = use_threads(s, machine_);
    return found;
  }

  // By rows. Loops that a condition can end are not vectorised.
  void schedule_plain(const std::vector<Stmt>& nests) override {
    if (tir::has_condition(tir::seq(nests))) {
      for (const Stmt& nest : nests) out_.nests.push_back(use_threads(nest, machine_));
      return;
    }
    const Kernel rows = fuse_rows({{}, out_.temporaries, nests}, in_.nests, true);
    out_.temporaries = rows.temporaries;
    for (const Stmt& nest : rows.nests) {
      out_.nests.push_back(use_threads(schedule_inner(nest, {}, machine_), machine_));
    }
    if (rows.nests.size() < nests.size()) note("rows");
  }

  const Machine& machine_;
  const std::vector<tir::Buffer>& constants_;
};

Device device_of(const Target& target, MeasuredAlgorithms* measured) {
  constexpr int kFirstWithFragments = 80;
  const std::string& arch = target.get_string("arch");  // sm_90a
  Device device;
  int version = 0;
  const auto* begin = arch.data() + std::min(arch.size(), std::string_view("sm_").size());
  std::from_chars(begin, arch.data() + arch.size(), version);
  device.multiplies_fragments = version == 0 || version >= kFirstWithFragments;
  device.winograd_tile = winograd_tile_of(target);
  device.measured = measured;
  return device;
}

}  // namespace

tir::PrimFunc schedule_kernel(tir::PrimFunc f, const Machine& machine) {
  return schedule_kernel(std::move(f), machine, {}).kernel;
}

ScheduledKernel schedule_kernel(tir::PrimFunc f, const Machine& machine,
                                const std::vector<tir::Buffer>& constants) {
  const Stmt body = put_together(lay_channels_side_by_side(take_apart(f.body), machine));
  HostScheduler scheduler(body, machine, constants);
  f.body = scheduler.run();
  if (!scheduler.summary().empty()) f.attrs["schedule"] = scheduler.summary();
  scheduler.change_inputs(f);
  f = tir::simplify(f);
  f.body = read_ahead(f.body);
  return {std::move(f), scheduler.made()};
}

Module schedule(Module module, const Target& target, MeasuredAlgorithms* measured) {
  const bool on_device = !is_on_host(main_memory(target.device()));
  Machine machine = on_device ? Machine() : machine_of(target);
  machine.measured = measured;
  const Device device = on_device ? device_of(target, measured) : Device();
  ConstantMaker maker(module);
  for (auto& [symbol, f] : module.prim_funcs) {
    const auto given = f.attrs.find("schedule");
    if (f.is_host || (given != f.attrs.end() && given->second == "none")) continue;
    const CheckContext context("scheduling `" + symbol + "`");
    const auto with_constants = [&, &kernel = f](const std::vector<tir::Buffer>& constants) {
      return on_device ? schedule_device_kernel(kernel, device, constants)
                       : schedule_kernel(kernel, machine, constants);
    };
    ScheduledKernel scheduled = with_constants(maker.constants_of(symbol, f));
    if (!maker.make(symbol, f, scheduled)) scheduled = with_constants({});
    f = std::move(scheduled.kernel);
  }
  module = maker.give(std::move(module));
  return lower::hoist_allocations(std::move(module));
}

}  // namespace tessera::schedule
