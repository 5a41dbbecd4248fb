// SPDX-License-Identifier: Apache-2.0
#include "constants/npy.h"
#include "constants/safetensors.h"
#include "passes/pass.h"
#include "relay/rewrite.h"

namespace tessera::passes {
namespace {

using relay::NodeId;

struct BindParamsOptions {
  std::string file;
  static constexpr auto fields = std::tuple{relay::required_attr("file", &BindParamsOptions::file)};
};

// Each bound parameter with its tensor; a tensor that does not fit the annotation is an error.
Result<std::map<NodeId, ConstantValue>> bindings(const relay::Function& f,
                                                 const std::map<std::string, Tensor>& tensors) {
  std::map<NodeId, ConstantValue> bound;
  std::map<std::string, NodeId> seen;
  Diagnostics errors;
  for (const NodeId id : f.params()) {
    const auto& param = *f.as<relay::Param>(id);
    const auto it = tensors.find(param.name);
    if (it == tensors.end()) continue;
    if (!seen.emplace(param.name, id).second) {
      errors.add(error(Code::kDuplicateName, f[id].location,
                       "several parameters of `main` are called `{}`", param.name));
      continue;
    }
    const Type& wanted = param.annotation ? param.annotation : f.type(id);
    if (wanted && !(wanted == it->second.type())) {
      errors.add(error(Code::kTypeMismatch, f[id].location,
                       "parameter `{}` has type {}, its tensor {}", param.name, to_string(wanted),
                       to_string(it->second.type())));
    }
    bound.emplace(id, it->second);
  }
  if (!errors.empty()) return fail(std::move(errors));
  return bound;
}

Result<Module> run_bind_params_by_name(Module module, PassContext& context) {
  const auto options = relay::read_attrs<BindParamsOptions>(context.options);
  const bool is_safetensors = options.file.ends_with(".safetensors");
  TESSERA_TRY(const auto tensors,
              is_safetensors ? read_safetensors(options.file) : read_npz(options.file));
  const auto main = module.functions.find("main");
  if (main == module.functions.end()) return module;
  TESSERA_TRY(const auto bound, bindings(main->second, tensors));
  main->second = relay::bind_params(main->second, bound);
  return module;
}

}  // namespace

extern const Pass bind_params_by_name;
const Pass bind_params_by_name{
    .name = "bind-params-by-name",
    .summary =
        "binds the tensors of an .npz or .safetensors file to the parameters of main that "
        "have their names",
    .options = relay::attr_schema<BindParamsOptions>,
    .run = run_bind_params_by_name,
};

}  // namespace tessera::passes
