// SPDX-License-Identifier: Apache-2.0
#include "schedule/schedule.h"

#include <algorithm>

#include "lower/main.h"
#include "schedule/device.h"
#include "schedule/rows.h"
#include "schedule/rules.h"
#include "tir/simplify.h"

namespace tessera::schedule {
namespace {

using tir::Stmt;

// Products first, each with the element-wise nests behind it; what lies between them by rows.
class KernelScheduler {
 public:
  KernelScheduler(const Stmt& body, const Machine& machine)
      : machine_(machine), in_(take_apart(body)) {
    out_.tables = in_.tables;
    out_.temporaries = in_.temporaries;
  }

  Stmt run() {
    std::vector<Stmt> plain;
    for (std::size_t i = 0; i < in_.nests.size();) {
      auto product =
          schedule_contraction(std::span(in_.nests).subspan(i), in_.temporaries, machine_);
      if (!product) {
        plain.push_back(in_.nests[i++]);
        continue;
      }
      flush(plain);
      for (const Stmt& s : product->nests) out_.nests.push_back(use_threads(s, machine_));
      out_.temporaries.insert(out_.temporaries.end(), product->temporaries.begin(),
                              product->temporaries.end());
      note(product->summary);
      i += product->replaced;
    }
    flush(plain);
    drop_unused_temporaries();
    return put_together(out_);
  }

  const std::string& summary() const { return summary_; }

 private:
  void note(const std::string& what) { summary_ += (summary_.empty() ? "" : "; ") + what; }

  void flush(std::vector<Stmt>& plain) {
    if (plain.empty()) return;
    const std::size_t before = plain.size();
    Kernel rows = fuse_rows({{}, out_.temporaries, plain}, in_.nests);
    out_.temporaries = rows.temporaries;
    for (const Stmt& nest : rows.nests) {
      out_.nests.push_back(use_threads(schedule_inner(nest, {}, machine_), machine_));
    }
    if (rows.nests.size() < before) note("rows");
    plain.clear();
  }

  void drop_unused_temporaries() {
    const std::vector<Access> all = accesses(tir::seq(out_.nests));
    std::erase_if(out_.temporaries, [&](const tir::Buffer& b) {
      return std::none_of(all.begin(), all.end(), [&](const Access& a) { return a.buffer == b; });
    });
  }

  const Machine& machine_;
  Kernel in_, out_;
  std::string summary_;
};

}  // namespace

tir::PrimFunc schedule_kernel(tir::PrimFunc f, const Machine& machine) {
  KernelScheduler scheduler(f.body, machine);
  f.body = scheduler.run();
  if (!scheduler.summary().empty()) f.attrs["schedule"] = scheduler.summary();
  f = tir::simplify(f);
  f.body = read_ahead(f.body);
  return f;
}

Module schedule(Module module, const Target& target) {
  const bool on_device = target.device() == DeviceType::kCuda;
  const Machine machine = on_device ? Machine() : machine_of(target);
  for (auto& [symbol, f] : module.prim_funcs) {
    const auto given = f.attrs.find("schedule");
    if (f.is_host || (given != f.attrs.end() && given->second == "none")) continue;
    const CheckContext context("scheduling `" + symbol + "`");
    f = on_device ? schedule_device_kernel(std::move(f)) : schedule_kernel(std::move(f), machine);
  }
  return lower::hoist_allocations(std::move(module));
}

}  // namespace tessera::schedule
