// SPDX-License-Identifier: Apache-2.0
#include "constants/npy.h"
#include "constants/write_failure.h"
#include "constants/zip.h"

namespace tessera {

Result<std::map<std::string, Tensor>> read_npz(const std::string& path) {
  TESSERA_TRY(const auto archive, Blob::map_file(path));
  const Location at = model_node_location(path, "");
  TESSERA_TRY(const auto members, read_zip(archive, at));
  std::map<std::string, Tensor> tensors;
  Diagnostics problems;
  for (const auto& member : members) {
    const std::string what = fmt::format("member `{}`", member.name);
    auto tensor = parse_npy(member.content, at, what);
    if (!tensor) {
      problems.add(std::move(tensor).error());
      continue;
    }
    std::string name = member.name;
    if (name.ends_with(".npy")) name.resize(name.size() - 4);
    if (!tensors.emplace(std::move(name), *std::move(tensor)).second) {
      problems.add(error(Code::kBadNumpyFile, at, "{}: the name is there twice", what));
    }
  }
  if (!problems.empty()) return fail(std::move(problems));
  return tensors;
}

Result<void> write_npz(const std::string& path, const std::map<std::string, Tensor>& tensors,
                       NpzCompression compression) {
  const ZipMethod method =
      compression == NpzCompression::kStored ? ZipMethod::kStored : ZipMethod::kDeflated;
  return reported(write_atomically(path, [&](FileWriter& out) -> FileResult<void> {
    ZipWriter zip(out);
    for (const auto& [name, tensor] : tensors) {
      zip.add(name + ".npy", npy_header(tensor), tensor.blob->bytes(), method);
    }
    zip.finish();
    return {};
  }));
}

}  // namespace tessera
