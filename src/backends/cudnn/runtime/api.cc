// SPDX-License-Identifier: Apache-2.0
#include "backends/cudnn/runtime/api.h"

namespace tessera::backends::cudnn {

bool load_api(Api* api, Lookup lookup, void* context) {
#define FUNCTION(name)                                                                    \
  api->name = reinterpret_cast<decltype(&::cudnn##name)>(lookup(context, "cudnn" #name)); \
  if (api->name == nullptr) return false;
#include "backends/cudnn/runtime/functions.def"
#undef FUNCTION
  return true;
}

bool fail(const Api& api, const char* what, cudnnStatus_t status, TextBuffer* error) {
  char reason[512] = "";
  api.GetLastErrorString(reason, sizeof reason);
  reason[sizeof reason - 1] = '\0';
  error->add("%s: %s%s%s%s", what, api.GetErrorString(status), reason[0] != '\0' ? " (" : "",
             reason, reason[0] != '\0' ? ")" : "");
  return false;
}

}  // namespace tessera::backends::cudnn
