// SPDX-License-Identifier: Apache-2.0
// The other process: OpenVINO compiles a graph, and exports what came of it.
#include <cerrno>
#include <iterator>

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include "backends/openvino/engine.h"
#include "backends/openvino/export_check.h"
#include "backends/openvino/export_files.h"
#include "backends/openvino/library_handle.h"

namespace tessera::backends::openvino {
namespace {

using relay::Refusal;
using relay::refuse;
using runtime::TextBuffer;

// Attention of open sizes, fused by OpenVINO's own generator of code ("snippets"), gives wrong
// numbers for 16 keys and more in 2026.4; with sizes that are known it is right. What is exported
// is kept: a change here is one of kExportVersion (engine.cc).
constexpr ov_property_t kForOpenSizes[] = {{"SNIPPETS_MODE", "DISABLE"}};

// A file in memory, with a name as long as it is open.
class MemoryFile {
 public:
  MemoryFile() : file_(::memfd_create("openvino", MFD_CLOEXEC)) {}
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  ~MemoryFile() {
    if (file_ >= 0) ::close(file_);
  }
  std::string path() const { return fmt::format("/proc/self/fd/{}", file_); }
  // Appends all of it.
  bool read_to(std::string& out) const {
    const off_t size = file_ < 0 ? -1 : ::lseek(file_, 0, SEEK_END);
    if (size <= 0) return false;
    std::size_t at = out.size();
    out.resize(at + static_cast<std::size_t>(size));
    for (off_t place = 0; place < size;) {
      const ssize_t n = ::pread(file_, out.data() + at, out.size() - at, place);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return false;
      at += static_cast<std::size_t>(n);
      place += n;
    }
    return true;
  }

 private:
  int file_;
};

// The process ends afterwards: nothing is given back.
class Exporter {
 public:
  explicit Exporter(const Api& api) : api_(api) {}

  // With what compare_export() says of it.
  Expected<std::string, Refusal> run(const Request& graph, const std::vector<Tensor>& inputs,
                                     Agreement& agreement) {
    if (core_ == nullptr) core_ = create_core(api_, &error_);
    if (core_ == nullptr) return refuse("{}", error_.text());
    if (!read(graph)) return failed("does not read the region");
    ov_compiled_model_t* compiled = nullptr;
    const std::size_t properties = graph.has_open_sizes ? std::size(kForOpenSizes) : 0;
    status_ =
        api_.core_compile_model_props(core_, model_, kDevice, properties, kForOpenSizes, &compiled);
    if (status_ != OK) return failed("does not compile the region");
    const MemoryFile file;
    status_ = api_.compiled_model_export_model(compiled, file.path().c_str());
    if (status_ != OK) return failed("does not export the region");
    std::string payload = Version(api_).text;
    payload.resize(kHeaderBytes);
    if (!file.read_to(payload)) return refuse("what OpenVINO exported cannot be read");
    agreement = compare_export(api_, core_, compiled,
                               std::string_view(payload).substr(kHeaderBytes), inputs);
    return payload;
  }

 private:
  bool read(const Request& graph) {
    auto size = static_cast<std::int64_t>(graph.bytes.bytes().size());
    ov_tensor_t* bytes = nullptr;
    status_ = api_.tensor_create_from_host_ptr(
        U8, {1, &size}, const_cast<std::byte*>(graph.bytes.bytes().data()), &bytes);
    if (status_ != OK) return false;
    status_ = api_.core_read_model_from_memory_buffer(core_, graph.xml.c_str(), graph.xml.size(),
                                                      bytes, &model_);
    return status_ == OK;
  }

  Unexpected<Refusal> failed(std::string_view what) {
    add_reason(api_, status_, &error_);
    return refuse("OpenVINO {}: {}", what, error_.text());
  }

  const Api& api_;
  ov_core_t* core_ = nullptr;
  ov_model_t* model_ = nullptr;
  ov_status_e status_ = OK;
  TextBuffer error_;
};

// What the result's file holds.
std::string result_of(const std::string& folder) {
  const auto said = [](Said kind, std::string_view text = "") {
    return std::string(1, static_cast<char>(kind)).append(text);
  };
  const auto request = read_request(folder);
  if (!request) return said(Said::kRefused, request.error().text());
  if (compiler_library() == nullptr) return said(Said::kRefused, compiler_library_error());
  Agreement agreement = Agreement::kOther;
  const auto payload =
      Exporter(*compiler_library()).run(*request, made_up_inputs(request->parameters), agreement);
  if (!payload) return said(Said::kRefused, payload.error().reason);
  switch (agreement) {
    case Agreement::kSame:
      return said(Said::kMade, *payload);
    case Agreement::kOther:
      return said(Said::kOther);
    case Agreement::kUnknown:
      break;
  }
  return said(Said::kUntried);
}

}  // namespace

void export_graph(const std::string& folder) {
  // Who waits for it sees that it is not there.
  (void)write_atomically(fmt::format("{}/{}", folder, kResultFile), result_of(folder));
}

}  // namespace tessera::backends::openvino
