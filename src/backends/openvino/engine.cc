// SPDX-License-Identifier: Apache-2.0
#include "backends/openvino/engine.h"

#include <cerrno>
#include <iterator>

#include <sys/mman.h>
#include <unistd.h>

#include "backends/openvino/export_check.h"
#include "backends/openvino/library_handle.h"
#include "support/child.h"

namespace tessera::backends::openvino {
namespace {

using relay::Refusal;
using relay::refuse;
using runtime::TextBuffer;

// Large models are compiled in some ten seconds.
constexpr double kSecondsOfSilence = 600;

// The first letter of what the child says: the payload follows, or a sentence.
constexpr char kMade = '+', kFailed = '-';

// Attention of open sizes, fused by OpenVINO's own generator of code ("snippets"), gives wrong
// numbers for 16 keys and more in 2026.4; with sizes that are known it is right.
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

// In the child, which ends afterwards: nothing is given back.
class Exporter {
 public:
  explicit Exporter(const Api& api) : api_(api) {}

  // With what compare_export() says of it.
  Expected<std::string, Refusal> run(const IrWriter& graph, const std::vector<Tensor>& inputs,
                                     Agreement& agreement) {
    if (core_ == nullptr) core_ = create_core(api_, &error_);
    if (core_ == nullptr) return refuse("{}", error_.text());
    if (!read(graph)) return failed("does not read the region");
    ov_compiled_model_t* compiled = nullptr;
    const std::size_t properties = graph.has_open_sizes() ? std::size(kForOpenSizes) : 0;
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
  bool read(const IrWriter& graph) {
    const std::string xml = graph.xml();
    auto size = static_cast<std::int64_t>(graph.bytes().size());
    ov_tensor_t* bytes = nullptr;
    status_ = api_.tensor_create_from_host_ptr(
        U8, {1, &size}, const_cast<std::byte*>(graph.bytes().data()), &bytes);
    if (status_ != OK) return false;
    status_ =
        api_.core_read_model_from_memory_buffer(core_, xml.c_str(), xml.size(), bytes, &model_);
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

// In the child: as OpenVINO likes it best, else in the forms that it exports whole.
Expected<std::string, Refusal> export_graph(const WriteGraph& write,
                                            const std::vector<Type>& parameters) {
  const std::vector<Tensor> inputs = made_up_inputs(parameters);
  Exporter exporter(*compiler_library());
  // Constants of the first stay as long as what was made of it.
  IrWriter graphs[] = {IrWriter(true, false), IrWriter(true, true)};
  bool known = true;
  for (IrWriter& graph : graphs) {
    TESSERA_TRY_VOID(write(graph));
    Agreement agreement = Agreement::kOther;
    TESSERA_TRY(std::string payload, exporter.run(graph, inputs, agreement));
    if (agreement == Agreement::kSame) return payload;
    known = known && agreement != Agreement::kUnknown;
  }
  if (!known) return refuse("what OpenVINO exports of the region cannot be tried with inputs");
  return refuse("what OpenVINO exports of the region computes other numbers than the region");
}

}  // namespace

Expected<std::string, Refusal> compile_graph(const WriteGraph& write,
                                             const std::vector<Type>& parameters) {
  const ChildResult child = run_in_child(
      [&](const Print& print) {
        const auto payload = export_graph(write, parameters);
        print(std::string_view(payload ? &kMade : &kFailed, 1));
        print(payload ? *payload : payload.error().reason);
      },
      kSecondsOfSilence);
  if (!child.problem.empty()) return refuse("OpenVINO ended: {}", child.problem);
  if (child.output.empty()) return refuse("OpenVINO ended without a word");
  std::string said = child.output.substr(1);
  if (child.output[0] == kMade) return said;
  return refuse("{}", said);
}

}  // namespace tessera::backends::openvino
