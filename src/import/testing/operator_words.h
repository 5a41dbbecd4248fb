// SPDX-License-Identifier: Apache-2.0
// What the sources of converters say of their operators: the attributes that they read, and the
// words that they compare with. Whoever adds an operator has nothing to do for it.
#pragma once

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "import/converters.h"
#include "onnx.pb.h"
#include "ops/records/table.h"
#include "support/files.h"

namespace tessera::import {

using AttributeType = onnx::AttributeProto::AttributeType;

struct OperatorWords {
  std::vector<std::pair<std::string, AttributeType>> attributes;
  std::vector<std::string> words;
};

// Each name that the importer knows, "com.microsoft.Gelu", with the words of its family, and what
// all families share.
struct ImporterWords {
  std::map<std::string, OperatorWords> operators;
  OperatorWords shared;
};

// The type that the function `reader` reads, `n.need_ints_attr`; one of any kind if it is none.
inline AttributeType type_read_by(std::string_view reader) {
  constexpr std::pair<std::string_view, AttributeType> kReaders[] = {
      {"floats_attr", onnx::AttributeProto::FLOATS},
      {"float_attr", onnx::AttributeProto::FLOAT},
      {"ints_attr", onnx::AttributeProto::INTS},
      {"string_attr", onnx::AttributeProto::STRING},
      {"strings_attr", onnx::AttributeProto::STRINGS},
      {"tensor_attr", onnx::AttributeProto::TENSOR},
      {"graph_attr", onnx::AttributeProto::GRAPH}};
  for (const auto& [end, type] : kReaders) {
    if (reader.ends_with(end)) return type;
  }
  return onnx::AttributeProto::INT;
}

// The string literals that are names, and those among them that name attributes.
inline OperatorWords words_of(const std::string& source) {
  constexpr std::string_view kReader = "_attr(";
  OperatorWords found;
  const auto is_of_name = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
  };
  for (std::size_t begin = source.find('"'); begin != std::string::npos;) {
    const std::size_t end = source.find('"', begin + 1);
    if (end == std::string::npos) break;
    const std::string word = source.substr(begin + 1, end - begin - 1);
    const std::string_view before = std::string_view(source).substr(0, begin);
    if (!word.empty() && std::all_of(word.begin(), word.end(), is_of_name)) {
      if (before.ends_with(kReader)) {
        found.attributes.emplace_back(word, type_read_by(before.substr(0, before.size() - 1)));
      } else {
        found.words.push_back(word);
      }
    }
    begin = source.find('"', end + 1);
  }
  std::sort(found.attributes.begin(), found.attributes.end());
  found.attributes.erase(std::unique(found.attributes.begin(), found.attributes.end()),
                         found.attributes.end());
  return found;
}

inline OperatorWords words_of_file(const std::filesystem::path& path) {
  return words_of(read_file(path.string()).value());
}

inline ImporterWords words_of_importer() {
  namespace fs = std::filesystem;
  constexpr const char* kFamilies[] = {
#define CONVERTERS(family) #family,
#include "import/converters.def"
#undef CONVERTERS
  };
  const fs::path folder = TESSERA_SOURCE_DIR "/src/import";
  ImporterWords all;
  all.shared.attributes.emplace_back("axis", onnx::AttributeProto::INT);
  std::vector<fs::path> files(fs::directory_iterator(folder), fs::directory_iterator{});
  std::sort(files.begin(), files.end());
  for (const fs::path& file : files) {
    const std::string name = file.filename().string();
    if (!name.ends_with(".cc") || name.ends_with("_test.cc") || name.starts_with("convert_"))
      continue;
    const OperatorWords more = words_of_file(file);
    all.shared.attributes.insert(all.shared.attributes.end(), more.attributes.begin(),
                                 more.attributes.end());
    all.shared.words.insert(all.shared.words.end(), more.words.begin(), more.words.end());
  }
  for (std::size_t i = 0; i < std::size(kFamilies); ++i) {
    const OperatorWords own =
        words_of_file(folder / (std::string("convert_") + kFamilies[i] + ".cc"));
    for (const Converter& c : converter_tables()[i]) all.operators.emplace(c.op_type, own);
  }
  for (const relay::Operator* op : ops::operators().all()) {
    for (const std::string_view name : op->onnx) all.operators.emplace(name, OperatorWords());
  }
  return all;
}

}  // namespace tessera::import
