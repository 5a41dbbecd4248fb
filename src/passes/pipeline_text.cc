// SPDX-License-Identifier: Apache-2.0
#include "passes/pipeline_text.h"

#include <algorithm>
#include <cctype>
#include <charconv>

#include <fmt/ranges.h>

namespace tessera::passes {
namespace {

using relay::AttrArray;
using relay::AttrValue;

constexpr int kMaxNesting = 400;  // of lists: a limit on the stack that a text can use

// Recursive descent over a short text; the first error ends it.
class PipelineParser {
 public:
  PipelineParser(std::string_view text, std::span<const Pass* const> known)
      : file_(std::make_shared<SourceFile>(SourceFile{"--passes", std::string(text)})),
        text_(file_->text),
        known_(known) {}

  Result<std::vector<PassCall>> parse() {
    std::vector<PassCall> calls;
    skip_space();
    if (at_end()) return calls;
    do {
      TESSERA_TRY(PassCall call, parse_call());
      calls.push_back(std::move(call));
    } while (accept(','));
    if (!at_end()) return fail(expected("`,` or the end of the list"));
    return calls;
  }

 private:
  Result<PassCall> parse_call() {
    skip_space();
    const std::size_t begin = at_;
    const std::string name(word());
    if (name.empty()) return fail(expected("the name of a pass"));
    const auto found =
        std::find_if(known_.begin(), known_.end(), [&](const Pass* p) { return p->name == name; });
    if (found == known_.end()) return fail(unknown_pass(begin, name));
    PassCall call{*found, {}, {}};
    if (accept('{')) {
      TESSERA_TRY(call.options, parse_options(call.pass->options()));
    }
    if (const auto finding = call.pass->options().normalize(call.options)) {
      return fail(error(Code::kBadPassOption, place(begin), "pass `{}`: {}", name,
                        about_options(*finding)));
    }
    call.place = place(begin);
    return call;
  }

  // Options are kept as attributes; users call them options, and spell them as here.
  static std::string about_options(std::string finding) {
    const std::pair<std::string_view, std::string_view> words[] = {
        {"attribute", "option"}, {"True or False", "true or false"}};
    for (const auto& [word, ours] : words) {
      for (auto at = finding.find(word); at != finding.npos; at = finding.find(word, at)) {
        finding.replace(at, word.size(), ours);
      }
    }
    return finding;
  }

  Diagnostic unknown_pass(std::size_t begin, const std::string& name) const {
    std::vector<std::string_view> names;
    for (const Pass* p : known_) names.push_back(p->name);
    return error(Code::kUnknownPass, place(begin), "there is no pass `{}`", name)
        .with_remedy(fmt::format("the passes are {}", fmt::join(names, ", ")));
  }

  Result<relay::Attrs> parse_options(const relay::AttrSchema& schema) {
    relay::Attrs options;
    if (accept('}')) return options;
    do {
      skip_space();
      const std::size_t begin = at_;
      const std::string key(word());
      if (key.empty() || !accept('=')) return fail(expected("`KEY=VALUE`"));
      if (options.find(key) != nullptr) {
        return fail(error(Code::kBadPassOption, place(begin), "option `{}` is given twice", key));
      }
      // `9` and `true` are words where words are wanted.
      const relay::AttrField* field = schema.find(key);
      wants_words_ = field != nullptr && (field->type == relay::AttrType::kString ||
                                          field->type == relay::AttrType::kStrings);
      TESSERA_TRY(AttrValue value, parse_value());
      options.set(key, std::move(value));
    } while (accept(','));
    if (!accept('}')) return fail(expected("`,` or `}` after an option"));
    return options;
  }

  Result<AttrValue> parse_value() {
    skip_space();
    if (accept('[')) return parse_list();
    if (!at_end() && text_[at_] == '"') return parse_quoted();
    const std::string_view bare = word();
    if (bare.empty()) return fail(expected("a value"));
    return bare_value(bare);
  }

  Result<AttrValue> parse_list() {
    AttrArray items;
    if (accept(']')) return AttrValue(std::move(items));
    if (++nesting_ > kMaxNesting) {
      return fail(
          error(Code::kBadPassOption, place(at_), "the lists nest more than {} deep", kMaxNesting)
              .with_remedy("write fewer lists within each other"));
    }
    do {
      TESSERA_TRY(AttrValue item, parse_value());
      items.push_back(std::move(item));
    } while (accept(','));
    --nesting_;
    if (!accept(']')) return fail(expected("`,` or `]` in a list"));
    return AttrValue(std::move(items));
  }

  Result<AttrValue> parse_quoted() {
    const std::size_t end = text_.find('"', at_ + 1);
    if (end == std::string_view::npos) return fail(expected("a closing quote"));
    std::string text(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return AttrValue(std::move(text));
  }

  AttrValue bare_value(std::string_view bare) const {
    if (wants_words_) return std::string(bare);
    if (bare == "true") return true;
    if (bare == "false") return false;
    // `inf` and `nan` are words.
    if (std::none_of(bare.begin(), bare.end(), [](char c) { return '0' <= c && c <= '9'; })) {
      return std::string(bare);
    }
    const char* const end = bare.data() + bare.size();
    std::int64_t integer = 0;
    if (auto r = std::from_chars(bare.data(), end, integer); r.ec == std::errc() && r.ptr == end) {
      return integer;
    }
    double real = 0;
    if (auto r = std::from_chars(bare.data(), end, real); r.ec == std::errc() && r.ptr == end) {
      return real;
    }
    return std::string(bare);
  }

  std::string_view word() {
    const std::size_t begin = at_;
    const std::string_view marks = "_.:/+-";
    while (!at_end() && (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 ||
                         marks.find(text_[at_]) != std::string_view::npos)) {
      ++at_;
    }
    return text_.substr(begin, at_ - begin);
  }

  bool accept(char c) {
    skip_space();
    if (at_end() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void skip_space() {
    while (!at_end() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
  }
  bool at_end() const { return at_ == text_.size(); }
  Location place(std::size_t begin) const {
    return file_location(file_, static_cast<std::uint32_t>(begin),
                         static_cast<std::uint32_t>(std::max(at_, begin + 1)));
  }
  Diagnostic expected(std::string_view what) const {
    return error(Code::kBadPassOption, place(at_), "expected {}, found {}", what,
                 at_end() ? std::string("the end") : fmt::format("`{}`", text_[at_]));
  }

  std::shared_ptr<const SourceFile> file_;
  std::string_view text_;
  std::span<const Pass* const> known_;
  std::size_t at_ = 0;
  int nesting_ = 0;
  bool wants_words_ = false;  // of the option that is being read
};

}  // namespace

Result<std::vector<PassCall>> parse_pipeline(std::string_view text,
                                             std::span<const Pass* const> known) {
  return PipelineParser(text, known).parse();
}

}  // namespace tessera::passes
