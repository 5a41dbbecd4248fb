// SPDX-License-Identifier: Apache-2.0
#include "backends/onednn/runtime/api.h"

namespace tessera::backends::onednn {

bool load_api(Api* api, Lookup lookup, void* context) {
#define FUNCTION(name)                                                                    \
  api->name = reinterpret_cast<decltype(&::dnnl_##name)>(lookup(context, "dnnl_" #name)); \
  if (api->name == nullptr) return false;
#include "backends/onednn/runtime/functions.def"
#undef FUNCTION
  return true;
}

const char* status_text(dnnl_status_t status) {
  switch (status) {
    case dnnl_success:
      return "success";
    case dnnl_out_of_memory:
      return "out of memory";
    case dnnl_invalid_arguments:
      return "invalid arguments";
    case dnnl_unimplemented:
      return "not implemented";
    case dnnl_last_impl_reached:
      return "no further implementation";
    case dnnl_runtime_error:
      return "run-time error";
    case dnnl_not_required:
      return "not required";
    default:
      return "unknown status";
  }
}

}  // namespace tessera::backends::onednn
