# SPDX-License-Identifier: Apache-2.0
"""How files of tensors are called, here and by the command."""
import re


def file_name(tensor: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.-]", "_", tensor) + ".npy"
