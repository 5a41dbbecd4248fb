# SPDX-License-Identifier: Apache-2.0
"""Writes the .npy and .npz files beside it with NumPy itself: what npy_test.cc reads."""
import os

import ml_dtypes
import numpy as np

os.chdir(os.path.dirname(os.path.abspath(__file__)))

DTYPES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
          "float16", "float32", "float64"]


def counted(dtype, shape=(2, 3)):
    return np.arange(np.prod(shape)).reshape(shape).astype(dtype)


everything = {dtype: counted(dtype) for dtype in DTYPES}
everything["bfloat16"] = counted(ml_dtypes.bfloat16)
everything["block/scalar"] = np.array(7, "int32")
everything["empty"] = np.zeros((2, 0, 3), "float32")
everything["vector"] = counted("float32", (5,))
everything["fortran"] = np.asfortranarray(counted("int16", (2, 3, 4)))
everything["big"] = counted(">i4")
everything["big_fortran"] = np.asfortranarray(counted(">f8"))
np.savez("stored.npz", **everything)
np.savez_compressed("deflated.npz", **everything)

for version in [(1, 0), (2, 0), (3, 0)]:
    with open(f"version{version[0]}.npy", "wb") as file:
        np.lib.format.write_array(file, counted("float32"), version=version)
np.save("words.npy", np.array(["a", "b"]))
np.save("record.npy", np.zeros(2, [("x", "f4"), ("y", "i4")]))
