// SPDX-License-Identifier: Apache-2.0
#include "tune/worker_report.h"

#include <algorithm>
#include <sstream>

#include <fmt/format.h>

namespace tessera::tune {
namespace {

// What is left of a line, without the blank in front.
std::string rest_of(std::istringstream& words) {
  std::string text;
  std::getline(words >> std::ws, text);
  return text.empty() ? "it gives no reason" : text;
}

void read_line(const std::string& line, WorkerReport& report) {
  std::istringstream words(line);
  std::string word;
  std::size_t number = 0;
  words >> word;
  if (word == "done") report.is_done = true;
  if (word == "hangs" && report.begun) {
    report.measured[*report.begun] = {0, 0, "it hangs"};
  }
  if (!(words >> number)) return;
  if (word == "found") report.found[number] = rest_of(words);
  if (word == "begin") report.begun = number;
  if (word == "wrong" || word == "failed") report.measured[number] = {0, 0, rest_of(words)};
  Measured measured;
  if (word == "time" && words >> measured.time_us >> measured.spread_us && measured.time_us > 0) {
    report.measured[number] = measured;
  }
}

}  // namespace

std::string found_line(std::size_t candidate, std::string_view configuration) {
  return fmt::format("found {} {}\n", candidate, configuration);
}

std::string begin_line(std::size_t candidate) { return fmt::format("begin {}\n", candidate); }

std::string line_of(std::size_t candidate, const Measured& measured) {
  if (measured.failure.empty()) {
    return fmt::format("time {} {:.9g} {:.9g}\n", candidate, measured.time_us, measured.spread_us);
  }
  std::string why = measured.failure;
  std::replace(why.begin(), why.end(), '\n', ' ');
  return fmt::format("wrong {} {}\n", candidate, why);
}

WorkerReport parse_worker_report(std::string_view output) {
  WorkerReport report;
  std::size_t begin = 0;
  for (std::size_t end; (end = output.find('\n', begin)) != std::string_view::npos;
       begin = end + 1) {
    read_line(std::string(output.substr(begin, end - begin)), report);
  }
  return report;
}

}  // namespace tessera::tune
