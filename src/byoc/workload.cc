// SPDX-License-Identifier: Apache-2.0
#include "byoc/workload.h"

#include <charconv>

namespace tessera::byoc {

std::string Workload::text() const {
  std::string out;
  std::size_t begin = 0;
  for (const std::int64_t size : sizes) {
    const std::size_t mark = form.find('?', begin);
    out += form.substr(begin, mark - begin) + std::to_string(size);
    begin = mark + 1;
  }
  return out + form.substr(begin);
}

std::optional<std::vector<std::int64_t>> Workload::sizes_in(std::string_view text) const {
  std::vector<std::int64_t> found;
  std::string_view rest = form;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const std::size_t mark = rest.find('?');
    if (text.substr(0, mark) != rest.substr(0, mark)) return std::nullopt;
    text.remove_prefix(mark);
    rest.remove_prefix(mark + 1);
    const auto [end, problem] =
        std::from_chars(text.data(), text.data() + text.size(), found.emplace_back());
    if (problem != std::errc()) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  }
  return text == rest ? std::optional(found) : std::nullopt;
}

std::string kernel_of(std::string_view configuration) {
  return std::string(configuration.substr(0, configuration.find(' ')));
}

bool is_of_device(std::string_view described, std::string_view wanted) {
  return wanted.ends_with(' ') ? described.starts_with(wanted) : described == wanted;
}

}  // namespace tessera::byoc
