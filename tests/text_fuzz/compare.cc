// SPDX-License-Identifier: Apache-2.0
#include "tests/text_fuzz/compare.h"

#include <algorithm>
#include <map>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "support/json_text.h"
#include "support/source.h"
#include "support/utf8.h"
#include "support/visible_text.h"
#include "tests/text_fuzz/cpp_tokens.h"

namespace tessera::text_fuzz {
namespace {

using Json = nlohmann::ordered_json;

// Nothing but line ends moves or hides what stands beside it.
std::string hidden_in(std::string_view text, std::string_view what) {
  const std::string shown = visible_lines(text);
  if (shown == text) return "";
  return fmt::format("{} holds what is invisible: {}", what, shown);
}

class Comparison {
 public:
  Comparison(const Names& plain, const Names& hostile) : plain_(plain), hostile_(hostile) {}

  std::string of_sources(const std::string& a, const std::string& b) {
    if (auto hidden = hidden_in(b, "a source"); !hidden.empty()) return hidden;
    const std::vector<Token> x = tokens_of(a), y = tokens_of(b);
    forget();
    std::vector<bool> functions;  // the braces that are open, and whether they are a function's
    for (std::size_t i = 0; i < std::min(x.size(), y.size()); ++i) {
      if (!same(x[i], y[i]) && !(is_size_of_payload(x, i) && is_size_of_payload(y, i))) {
        return fmt::format("token {}: `{}` became `{}`, after `{}`", i, visible(x[i].text),
                           visible(y[i].text), visible(context(y, i)));
      }
      if (x[i].kind != TokenKind::kPunctuation) continue;
      if (x[i].text == "{") functions.push_back(i > 0 && x[i - 1].text == ")");
      if (x[i].text != "}" || functions.empty()) continue;
      const bool was_function = functions.back();
      functions.pop_back();
      if (was_function && std::find(functions.begin(), functions.end(), true) == functions.end()) {
        forget();
      }
    }
    if (x.size() != y.size()) return fmt::format("{} tokens became {}", x.size(), y.size());
    return "";
  }

  // "4:17": lines are longer or shorter by their names.
  static bool is_place(const std::string& text) {
    return text.find(':') != text.npos && text.find_first_not_of("0123456789:") == text.npos;
  }

  // JSON as text, with names in its strings.
  bool same_json(const std::string& a, const std::string& b) {
    const Json x = Json::parse(a, nullptr, false), y = Json::parse(b, nullptr, false);
    return !x.is_discarded() && !y.is_discarded() && x.is_structured() && same_json(x, y);
  }

 private:
  void forget() { names_ = {}; }

  // A graph is longer or shorter by the names in it.
  static bool is_size_of_payload(const std::vector<Token>& tokens, std::size_t at) {
    return at >= 2 && tokens[at].kind == TokenKind::kNumber && tokens[at - 1].text == "," &&
           tokens[at - 2].text.starts_with("tessera_payload_");
  }

  static std::string context(const std::vector<Token>& tokens, std::size_t at) {
    std::string out;
    for (std::size_t i = at > 12 ? at - 12 : 0; i < at; ++i) out += tokens[i].text + " ";
    return out;
  }

  bool same(const Token& a, const Token& b) {
    if (a.kind != b.kind) return false;
    if (a.kind == TokenKind::kName) return same_name(a.text, b.text);
    if (a.kind == TokenKind::kString) return same_string(a.text, b.text);
    return a.text == b.text;
  }

  // One for one.
  struct Renaming {
    bool holds(const std::string& a, const std::string& b) {
      return there.emplace(a, b).first->second == b && back.emplace(b, a).first->second == a;
    }
    std::map<std::string, std::string> there, back;
  };

  // A name that is new is legal, and no word.
  bool same_name(const std::string& a, const std::string& b) {
    return names_.holds(a, b) && (a == b || (is_c_name(b) && !is_c_word(b)));
  }

  bool same_string(const std::string& a, const std::string& b) {
    return a == b || with_hostile_names(a) == b || same_format(a, b) || same_json(a, b) ||
           same_words(a, b);
  }

  // A format for printf, in which a name's own `%` stand twice.
  bool same_format(const std::string& a, const std::string& b) const {
    if (a.find('%') == a.npos) return false;
    Names doubled = hostile_;
    for (std::string& name : doubled) {
      for (std::size_t at = name.find('%'); at != name.npos; at = name.find('%', at + 2)) {
        name.insert(at, 1, '%');
      }
    }
    return Comparison(plain_, doubled).with_hostile_names(a) == b;
  }

  // A sentence with symbols in it: what a run says of sizes.
  bool same_words(const std::string& a, const std::string& b) {
    const auto is_of_word = [](char c) {
      return c == '_' || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
    };
    std::size_t i = 0, k = 0;
    while (i < a.size() && k < b.size()) {
      const auto end_of_word = [&](const std::string& text, std::size_t at) {
        while (at < text.size() && is_of_word(text[at])) ++at;
        return at;
      };
      const std::size_t i_end = end_of_word(a, i), k_end = end_of_word(b, k);
      if ((i_end == i) != (k_end == k)) return false;
      if (i_end == i) {
        if (a[i++] != b[k++]) return false;
        continue;
      }
      const std::string x = a.substr(i, i_end - i), y = b.substr(k, k_end - k);
      if (x != y && !(is_c_name(x) && is_c_name(y) && symbols_.holds(x, y))) return false;
      i = i_end;
      k = k_end;
    }
    return i == a.size() && k == b.size();
  }

  bool same_json(const Json& a, const Json& b) {
    if (a.type() != b.type()) return false;
    if (a.is_string()) {
      const auto text = a.get<std::string>(), other = b.get<std::string>();
      // JSON has no bytes that are no UTF-8, and names that were made of others are words.
      return text == other || Json::parse(json_text(with_hostile_names(text))) == b ||
             (is_c_name(text) && is_c_name(other)) || (is_place(text) && is_place(other)) ||
             (text.find("zq") != text.npos && hidden_in(other, "").empty());
    }
    if (!a.is_structured()) return a == b;
    if (a.size() != b.size()) return false;
    auto y = b.begin();
    for (auto x = a.begin(); x != a.end(); ++x, ++y) {
      if (a.is_object() && !same_json(Json(x.key()), Json(y.key()))) return false;
      if (!same_json(*x, *y)) return false;
    }
    return true;
  }

  std::string with_hostile_names(std::string text) const {
    for (std::size_t i = 0; i < plain_.size(); ++i) {
      for (std::size_t at = text.find(plain_[i]); at != text.npos;
           at = text.find(plain_[i], at + hostile_[i].size())) {
        text.replace(at, plain_[i].size(), hostile_[i]);
      }
    }
    return text;
  }

  const Names &plain_, &hostile_;
  Renaming names_;    // of identifiers, in a function
  Renaming symbols_;  // told in strings: of functions and sizes
};

// The tags of a page, with their attributes. Labels stand where there is room for a name.
std::vector<std::string> elements_of(std::string_view page) {
  std::vector<std::string> out;
  while (true) {
    const std::size_t begin = page.find('<');
    if (begin == page.npos) return out;
    const std::size_t end = page.find('>', begin);
    if (end == page.npos) return out;
    std::string tag(page.substr(begin, end - begin + 1));
    page.remove_prefix(end + 1);
    if (!tag.starts_with("<text ") && tag != "</text>") out.push_back(std::move(tag));
  }
}

}  // namespace

std::string difference(const Emitted& plain, const Emitted& hostile, const Names& plain_names,
                       const Names& hostile_names) {
  Comparison comparison(plain_names, hostile_names);
  if (plain.sources.size() != hostile.sources.size()) return "the number of sources";
  for (std::size_t i = 0; i < plain.sources.size(); ++i) {
    const std::string found = comparison.of_sources(plain.sources[i], hostile.sources[i]);
    if (!found.empty()) return fmt::format("{}: {}", hostile.job_names[i], found);
    const std::string& name = hostile.job_names[i];
    if (!is_c_name(name) || name.size() > 200) return "a job is called " + visible(name);
  }
  if (!comparison.same_json(plain.metadata, hostile.metadata)) return "the metadata";
  if (elements_of(plain.page) != elements_of(hostile.page)) return "the elements of the page";
  for (const auto& [text, what] : {std::pair(&hostile.page, "the page"),
                                   {&hostile.metadata, "the metadata"},
                                   {&hostile.shown, "what is printed"}}) {
    if (auto hidden = hidden_in(*text, what); !hidden.empty()) return hidden;
  }
  return "";
}

}  // namespace tessera::text_fuzz
