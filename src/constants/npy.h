// SPDX-License-Identifier: Apache-2.0
// NumPy's files. Read: .npy versions 1 to 3, either byte order, C and Fortran order, all our
// dtypes; .npz with stored and deflated members. Two bytes of no type (`V2`) are bfloat16, as
// ml_dtypes writes them.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "constants/tensor.h"
#include "support/files.h"

namespace tessera {

// The tensor is mapped where its bytes can be used as they are (C order, little endian).
Result<Tensor> read_npy(const std::string& path);
Result<void> write_npy(const std::string& path, const Tensor& tensor);

// By member name without `.npy`: the member `a/b.npy` is the tensor `a/b`. Stored members are
// mapped.
Result<std::map<std::string, Tensor>> read_npz(const std::string& path);
enum class NpzCompression { kStored, kDeflated };
// The same tensors give the same bytes. Data of stored members are aligned for mapping.
Result<void> write_npz(const std::string& path, const std::map<std::string, Tensor>& tensors,
                       NpzCompression compression = NpzCompression::kStored);

// The content of a .npy file; `what` names it in messages ("member `a.npy`"), `at` is the file.
Result<Tensor> parse_npy(const std::shared_ptr<const Blob>& content, const Location& at,
                         std::string_view what);
// What stands before the data of a tensor: a multiple of 64 bytes.
std::string npy_header(const Tensor& tensor);

}  // namespace tessera
