# SPDX-License-Identifier: Apache-2.0
"""Tensors by name in a file, bfloat16 included, which numpy's own format forgets."""
from pathlib import Path

import ml_dtypes
import numpy as np

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
MARK = "bfloat16 "


def save_arrays(path: Path, arrays: dict[str, np.ndarray]) -> None:
    np.savez(path, **{name_of(n, x): x.view(np.uint16) if x.dtype == BFLOAT16 else x
                      for n, x in arrays.items()})


def name_of(name: str, array: np.ndarray) -> str:
    return (MARK if array.dtype == BFLOAT16 else "") + name.replace("/", "\\")


def load_arrays(path: Path) -> dict[str, np.ndarray]:
    found = {}
    with np.load(path) as file:
        for key in file.files:
            array, name = file[key], key.replace("\\", "/")
            if name.startswith(MARK):
                name, array = name.removeprefix(MARK), array.view(BFLOAT16)
            found[name] = array
    return found
