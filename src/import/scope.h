// SPDX-License-Identifier: Apache-2.0
// The names that a graph's or function's body has defined so far.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "relay/function.h"

namespace tessera::import {

// Tensors in order, of which there are as many in every run; or an optional value that is absent.
struct Sequence {
  std::vector<relay::NodeId> elements = {};
  bool is_absent = false;
};

struct Scope {
  const Scope* outer = nullptr;                  // of a branch: what it sees besides its own values
  int opset = 1;                                 // of the default domain
  std::map<std::string, int> other_opsets = {};  // of the other domains that the body imports
  std::string place;  // of a function's body: the nodes that call it, "outer/inner/"
  std::map<std::string, relay::NodeId> values;
  std::map<std::string, Sequence> sequences;   // values that are no tensors
  std::map<std::string, std::string> strings;  // values that are strings: the operators they are of
  std::set<std::string> failed;          // of nodes that were reported: no second message for users
  std::map<std::string, int> narrow;     // values of narrow types, which are bytes: ONNX's number
  std::map<std::string, Type> declared;  // what the model says about values, where it is complete
  std::map<std::string, Shape> implied;  // shapes that are so, and those that follow from them

  const relay::NodeId* find(const std::string& name) const {
    for (const Scope* s = this; s != nullptr; s = s->outer) {
      if (const auto it = s->values.find(name); it != s->values.end()) return &it->second;
    }
    return nullptr;
  }
  const Sequence* find_sequence(const std::string& name) const {
    for (const Scope* s = this; s != nullptr; s = s->outer) {
      if (const auto it = s->sequences.find(name); it != s->sequences.end()) return &it->second;
    }
    return nullptr;
  }
  // The operator that gives the strings of this name, or null.
  const std::string* strings_of(const std::string& name) const {
    for (const Scope* s = this; s != nullptr; s = s->outer) {
      if (const auto it = s->strings.find(name); it != s->strings.end()) return &it->second;
    }
    return nullptr;
  }
  bool has_failed(const std::string& name) const {
    for (const Scope* s = this; s != nullptr; s = s->outer) {
      if (s->failed.contains(name)) return true;
    }
    return false;
  }
  // ONNX's number of a narrow type, 0 of any other.
  int narrow_type(const std::string& name) const {
    for (const Scope* s = this; s != nullptr; s = s->outer) {
      if (!s->values.contains(name)) continue;
      const auto it = s->narrow.find(name);
      return it == s->narrow.end() ? 0 : it->second;
    }
    return 0;
  }
  // The version of a domain; 1 where the body does not import it.
  int opset_of(const std::string& domain) const;
  // "ai.onnx opset 17", "com.microsoft opset 1": whose operator, of which version. A domain that is
  // not imported has none.
  std::string domain_text(const std::string& domain) const;
  // A body within this one, whose nodes have longer names.
  Scope inner(const std::string& node) const {
    Scope body;
    body.opset = opset;
    body.other_opsets = other_opsets;
    body.place = node + "/";
    return body;
  }
  const Type* declared_type(const std::string& name) const {
    const auto it = declared.find(name);
    return it == declared.end() ? nullptr : &it->second;
  }
};

}  // namespace tessera::import
