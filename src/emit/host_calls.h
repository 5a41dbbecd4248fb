// SPDX-License-Identifier: Apache-2.0
// Calls of kernels and of back ends in a host program.
#pragma once

#include <map>
#include <string>

#include "emit/host_writer.h"
#include "module/module.h"

namespace tessera::emit {

class HostCalls {
 public:
  // `extern_index`: as for emit_host_body().
  HostCalls(const Module& module, const std::map<std::string, int>& extern_index,
            HostWriter& writer);
  // Sets `status`.
  void write(const tir::CallKernel& call);

 private:
  void call_generated(const tir::CallKernel& s);
  void call_backend(const tir::CallKernel& s);
  Source copied_bytes(const tir::CallKernel& s);
  Source dims(const tir::CallKernel& s);
  Source call_record(const std::string& symbol) const;
  const std::string& run_function(const std::string& symbol) const;
  void tensor(int i, const tir::Buffer& b);

  const Module& module_;
  const std::map<std::string, int>& extern_index_;
  HostWriter& out_;
  const bool on_device_;
};

}  // namespace tessera::emit
