// SPDX-License-Identifier: Apache-2.0
// What onnxruntime calls by name when it registers the library, and the factory of providers.
#include <filesystem>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>

#include <dlfcn.h>

#include "onnxruntime_provider/provider.h"

namespace tessera::onnxruntime_provider {
namespace {

// `../bin/tessera` beside the folder of this library, where it is built and installed; else what
// $PATH has.
std::string usual_command() {
  Dl_info here{};
  if (::dladdr(reinterpret_cast<const void*>(&usual_command), &here) != 0) {
    const auto folder = std::filesystem::absolute(here.dli_fname).parent_path();
    const auto command = (folder / ".." / "bin" / "tessera").lexically_normal();
    if (std::filesystem::exists(command)) return command.string();
  }
  return "tessera";
}

// Options of the provider are entries of the session's configuration.
Options options_of(const OrtSessionOptions* session) {
  const Ort::ConstSessionOptions given(session);
  const auto option = [&](const std::string& key, const std::string& otherwise) {
    const std::string name = "ep.tesseraexecutionprovider." + key;
    return given.GetConfigEntryOrDefault(name.c_str(), otherwise);
  };
  Options options;
  options.command = option("command", usual_command());
  // What fails later, when groups are compiled, onnxruntime only logs.
  if (options.command.find('/') != std::string::npos && !std::filesystem::exists(options.command)) {
    throw std::invalid_argument("the option `command` of tessera: there is no `" + options.command +
                                "`");
  }
  const std::string threads = option("threads", "0");
  std::istringstream number(threads);
  if (!(number >> options.threads) || !number.eof() || options.threads < 0) {
    throw std::invalid_argument("the option `threads` of tessera is `" + threads +
                                "`: give a number from 0 on");
  }
  std::istringstream words(option("options", ""));
  for (std::string word; words >> word;) options.arguments.push_back(word);
  return options;
}

class Factory : public OrtEpFactory {
 public:
  Factory() : OrtEpFactory{} {
    ort_version_supported = ORT_API_VERSION;
    GetName = [](const OrtEpFactory*) noexcept { return kName; };
    GetVendor = [](const OrtEpFactory*) noexcept { return "tessera"; };
    GetVendorId = [](const OrtEpFactory*) noexcept { return std::uint32_t{0}; };
    GetVersion = [](const OrtEpFactory*) noexcept { return TESSERA_VERSION; };
    IsStreamAware = [](const OrtEpFactory*) noexcept { return false; };
    GetSupportedDevices = [](OrtEpFactory* self, const OrtHardwareDevice* const* devices,
                             std::size_t count, OrtEpDevice** found, std::size_t room,
                             std::size_t* found_count) noexcept {
      return guarded([&] {
        *found_count = 0;
        for (std::size_t i = 0; i < count && *found_count < room; ++i) {
          if (Ort::GetApi().HardwareDevice_Type(devices[i]) != OrtHardwareDeviceType_CPU) continue;
          Ort::ThrowOnError(Ort::GetEpApi().CreateEpDevice(self, devices[i], nullptr, nullptr,
                                                           &found[(*found_count)++]));
        }
      });
    };
    CreateEp = [](OrtEpFactory*, const OrtHardwareDevice* const*, const OrtKeyValuePairs* const*,
                  std::size_t, const OrtSessionOptions* session, const OrtLogger* logger,
                  OrtEp** provider) noexcept {
      return guarded(
          [&] { *provider = std::make_unique<Provider>(options_of(session), logger).release(); });
    };
    ReleaseEp = [](OrtEpFactory*, OrtEp* provider) noexcept {
      delete static_cast<Provider*>(provider);
    };
    CreateAllocator = [](OrtEpFactory*, const OrtMemoryInfo*, const OrtKeyValuePairs*,
                         OrtAllocator** allocator) noexcept {
      *allocator = nullptr;
      return static_cast<OrtStatus*>(nullptr);
    };
    ReleaseAllocator = [](OrtEpFactory*, OrtAllocator*) noexcept {};
    CreateDataTransfer = [](OrtEpFactory*, OrtDataTransferImpl** transfer) noexcept {
      *transfer = nullptr;
      return static_cast<OrtStatus*>(nullptr);
    };
  }
};

}  // namespace
}  // namespace tessera::onnxruntime_provider

using tessera::onnxruntime_provider::Factory;

extern "C" __attribute__((visibility("default"))) OrtStatus* CreateEpFactories(
    const char*, const OrtApiBase* base, const OrtLogger*, OrtEpFactory** factories,
    std::size_t room, std::size_t* count) {
  const OrtApi* api = base->GetApi(ORT_API_VERSION);
  if (api == nullptr) {
    return base->GetApi(1)->CreateStatus(ORT_EP_FAIL,
                                         "tessera's provider was built for a newer onnxruntime");
  }
  Ort::InitApi(api);
  if (room < 1) return api->CreateStatus(ORT_INVALID_ARGUMENT, "there is no room for a factory");
  factories[0] = new Factory;
  *count = 1;
  return nullptr;
}

extern "C" __attribute__((visibility("default"))) OrtStatus* ReleaseEpFactory(
    OrtEpFactory* factory) {
  delete static_cast<Factory*>(factory);
  return nullptr;
}
