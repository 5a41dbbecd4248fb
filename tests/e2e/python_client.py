#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""That ctypes_model.py says what a library says: python_client.py FOLDER LIBRARY, the folder of
ctypes_model.py and a library of `y = x w v`, x being (4, 8), w (8, 16), which is kept, and v the
first four columns of the identity."""
import os
import sys

import numpy as np

sys.path.insert(0, sys.argv[1])
import ctypes_model as tessera  # noqa: E402

with tessera.Model(sys.argv[2], threads=1) as model:
    assert [io.name for io in model.inputs] == [b"x"], model.inputs
    assert [io.name for io in model.weights] == [b"w"], model.weights
    before = model.memory()
    assert before.keys() == {"constant_bytes", "pool_bytes", "other_bytes", "pinned_bytes"}, before
    # On a CPU, constants are read in the library.
    assert before["constant_bytes"] == before["pinned_bytes"] == 0, before
    arena = model.metadata["pools"][0]["bytes"]
    assert arena > 0 and before["pool_bytes"] >= arena, (before, arena)

    x = np.random.default_rng(0).standard_normal((4, 8), dtype=np.float32)
    w = np.random.default_rng(1).standard_normal((8, 16), dtype=np.float32)
    model.set_weight("w", w)
    after = model.memory()
    assert after["pool_bytes"] == before["pool_bytes"], (before, after)
    assert after["other_bytes"] >= before["other_bytes"] + w.nbytes, (before, after)
    y = model.run({"x": x})["y"]
    np.testing.assert_allclose(y, (x @ w)[:, :4], rtol=1e-5, atol=1e-6)
    cpus = sorted(os.sched_getaffinity(0))
    with tessera.Model(sys.argv[2], threads=2, nice=1, cpus=cpus) as other:
        other.set_weight("w", w)
        np.testing.assert_array_equal(other.run({"x": x})["y"], y)
    # Outputs are in the instance's own memory.
    assert model.memory()["other_bytes"] >= after["other_bytes"] + y.nbytes, model.memory()
