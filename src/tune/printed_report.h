// SPDX-License-Identifier: Apache-2.0
// What a search in a child reports, as lines of worker_report.h.
#pragma once

#include <string>
#include <string_view>

#include "byoc/tuning_task.h"
#include "support/child.h"
#include "tune/worker_report.h"

namespace tessera::tune {

class PrintedReport final : public byoc::SearchReport {
 public:
  explicit PrintedReport(const Print& print) : print_(print) {}
  void found(std::size_t way, std::string_view configuration) override {
    print_(found_line(way, configuration));
  }
  void begins(std::size_t way) override { print_(begin_line(way)); }
  void wrong(std::size_t way, std::string_view why) override {
    print_(line_of(way, {0, 0, std::string(why)}));
  }
  void timed(std::size_t way, double median_us, double spread_us) override {
    print_(line_of(way, {median_us, spread_us, ""}));
  }
  void done() override { print_(kDoneLine); }

 private:
  const Print& print_;
};

}  // namespace tessera::tune
