// SPDX-License-Identifier: Apache-2.0
#include "tests/model_fuzz/mutate_loops.h"

#include <iterator>
#include <random>
#include <regex>
#include <string_view>
#include <vector>

namespace tessera::model_fuzz {
namespace {

constexpr std::string_view kNumbers[] = {"0",
                                         "1",
                                         "-1",
                                         "2",
                                         "3",
                                         "63",
                                         "65",
                                         "1024",
                                         "65536",
                                         "1000000000000",
                                         "2**62",
                                         "4611686018427387904",
                                         "9223372036854775807",
                                         "-9223372036854775808",
                                         "2.5",
                                         "T.Ramp(0, 1, 4)",
                                         "T.Broadcast(2, 65535)",
                                         "T.float32(\"nan\")",
                                         "\"text\"",
                                         "True"};
constexpr std::string_view kTypes[] = {"float32", "float16",   "bfloat16",    "float64", "int64",
                                       "int32",   "int8",      "uint8",       "uint64",  "bool",
                                       "handle",  "float32x4", "int64x65535", "float8"};
constexpr std::string_view kKinds[] = {"serial", "parallel", "vectorized", "unrolled",
                                       "grid",   "warps",    "blocks",     "threads"};
constexpr std::string_view kScopes[] = {"global", "stack", "constant", "shared"};
constexpr std::string_view kStatements[] = {
    "T.barrier()",
    "T.call_kernel(\"k\", [x], [y], [])",
    "T.reserve(x)",
    "T.evaluate(T.exp(1.0, 2.0))",
    "T.evaluate(T.call(\"float32\", \"nothing\"))",
    "T.evaluate(T.call(\"float32\", \"barrier\", 1.0))",
    "T.require(1 < 2, \"{} of {}\", 3)",
    "v = T.view(x, (4,), \"int8\")",
    "v = T.view(x, (9223372036854775807, 2), \"float64\")",
    "c = T.allocate_const([1, 2], (2,), \"int8\")",
    "c = T.allocate_const(T.pool(99), (2,), \"float32\")",
    "a = T.alloc_buffer((1, 2, 3, 4, 5, 6, 7, 8, 9), \"float32\", scope=\"stack\")",
    "a = T.alloc_buffer((), \"float32\", scope=\"shared\", align=1024)",
    "a = T.alloc_buffer((8,), \"float32\", strides=(9223372036854775807,))",
    "x[0] = 1.0",
    "n: T.int64 = n * n",
    "i: T.int64 = 9223372036854775807 * 4",
    "pass"};

class Mutation {
 public:
  Mutation(std::string text, std::uint64_t seed) : text_(std::move(text)), random_(seed) {}

  std::string run() {
    const std::uint64_t changes = 1 + below(4);
    for (std::uint64_t k = 0; k < changes; ++k) change();
    return std::move(text_);
  }

 private:
  std::uint64_t below(std::uint64_t n) { return random_() % n; }
  template <std::size_t kSize>
  std::string any(const std::string_view (&list)[kSize]) {
    return std::string(list[below(kSize)]);
  }

  void change() {
    switch (below(8)) {
      case 0:
      case 1:
        return replace("\\b[0-9]+\\b", any(kNumbers));
      case 2:
        return replace("\\b(u?int|float|bfloat|bool)[0-9]*\\b", any(kTypes));
      case 3:
        return replace("\\b(serial|parallel|vectorized|unrolled|grid|warps|blocks|threads)\\b",
                       any(kKinds));
      case 4:
        return replace("\"(global|stack|constant|shared)\"", '"' + any(kScopes) + '"');
      case 5:
        return name();
      case 6:
        return operand();
      default:
        return line();
    }
  }

  std::vector<std::smatch> matches(const char* pattern) {
    const std::regex expression(pattern);
    return {std::sregex_iterator(text_.begin(), text_.end(), expression), std::sregex_iterator()};
  }

  void replace(const char* pattern, const std::string& by) {
    const auto found = matches(pattern);
    if (found.empty()) return;
    const auto& one = found[below(found.size())];
    text_.replace(static_cast<std::size_t>(one.position()), static_cast<std::size_t>(one.length()),
                  by);
  }

  // One name in the place of another.
  void name() {
    const auto found = matches("\\b[a-z_][a-z0-9_]*\\b(?=[\\[ ,:)])");
    if (found.empty()) return;
    replace("\\b[a-z_][a-z0-9_]*\\b(?=[\\[ ,:)])", found[below(found.size())].str());
  }

  // One more, or none.
  void operand() {
    if (below(2) == 0) return replace("\\)", ", 1)");
    replace(", [^,()]*(?=\\))", "");
  }

  // A line moved, doubled, left out, or another one put in, at any indentation.
  void line() {
    std::vector<std::string> lines;
    for (std::size_t at = 0; at < text_.size();) {
      const std::size_t end = std::min(text_.find('\n', at), text_.size());
      lines.push_back(text_.substr(at, end - at));
      at = end + 1;
    }
    const auto at = [&] { return static_cast<std::ptrdiff_t>(below(lines.size())); };
    const std::ptrdiff_t from = at();
    std::string one = lines[static_cast<std::size_t>(from)];
    const std::uint64_t how = below(4);
    if (how < 2) lines.erase(lines.begin() + from);
    if (how > 2) one = any(kStatements);
    if (how > 0 && !lines.empty()) {
      const std::size_t text = std::min(one.find_first_not_of(' '), one.size());
      const std::ptrdiff_t to = at();
      const std::string& neighbour = lines[static_cast<std::size_t>(to)];
      const std::size_t indent = std::min(neighbour.find_first_not_of(' '), neighbour.size());
      lines.insert(lines.begin() + to, std::string(indent, ' ') + one.substr(text));
    }
    text_.clear();
    for (const std::string& l : lines) text_ += l + "\n";
  }

  std::string text_;
  std::mt19937_64 random_;
};

}  // namespace

std::string mutate_loops(std::string text, std::uint64_t seed) {
  return Mutation(std::move(text), seed).run();
}

}  // namespace tessera::model_fuzz
