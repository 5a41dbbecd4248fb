// SPDX-License-Identifier: Apache-2.0
// A module as text, both ways: version, symbols, functions by name, loop functions by name,
// metadata.
//
//   #[version = "0.0.5"]
//   #[symbol seq = 8..512 step 8 : 128]
//   def @main(%x: Tensor[(?seq, 768), float32]) { ... }
//
//   @k00_relu = tir {
//   @T.prim_func
//   def k00_relu(...): ...
//   }
//
//   #[metadata]
//   { ... }
//
// Externs, artifacts, targets and the values of kept weights are not in the text.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "module/module.h"
#include "relay/operator.h"
#include "relay/text/print.h"

namespace tessera {

struct ModulePrintOptions {
  relay::PrintOptions functions;
  bool metadata = true;  // without it a comment says how many constants were left out
};
std::string print(const Module& module, const ModulePrintOptions& options = {});

// The text without its metadata section, and what `meta[relay.Constant][i]` stands for in it: for
// dumps that keep constants in a file of their own, which `metadata_in` then names.
struct TextAndConstants {
  std::string text;
  std::vector<Tensor> constants;
};
TextAndConstants print_apart(const Module& module, const relay::PrintOptions& options = {});
// The same of a module with this `main` alone and these constants, which need not be copied for it.
TextAndConstants print_apart(const relay::Function& main, const ConstantPool& constants);
std::string metadata_in(const std::string& file);

// All errors that can be found are reported. `constants` continue those of the metadata section.
// The constants of functions are immediate; where there are loop functions, the pool holds the
// text's constants, in order.
Result<Module> parse_module(std::shared_ptr<const SourceFile> file,
                            const relay::OperatorTable& operators,
                            std::vector<Tensor> constants = {});
// The same of a file, which may keep its constants in an .npz beside it: the last line
// `#[metadata in "FILE"]`; there the member `i` is meta[relay.Constant][i].
Result<Module> parse_module_file(std::shared_ptr<const SourceFile> file,
                                 const relay::OperatorTable& operators);
// The file beside the text that parse_module_file reads.
std::optional<std::string> constant_file(const SourceFile& file);

}  // namespace tessera
