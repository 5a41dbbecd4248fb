#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""That Model of a module hands on the options of an instance: fake_model_client.py FOLDER MODULE
LIBRARY, the folder and the name of the module, and the library of fake_model.c."""
import importlib
import sys

sys.path.insert(0, sys.argv[1])
tessera = importlib.import_module(sys.argv[2])


def answer(**options) -> str:
    try:
        tessera.Model(sys.argv[3], **options)
    except tessera.Error as error:
        return str(error)
    raise AssertionError("an instance was created")


assert "asked for 3 threads, replay on" in answer(threads=3), answer(threads=3)
assert "replay on, nice 0" in answer(threads=3), answer(threads=3)
placed = answer(nice=5, cpus=[1, 0])
assert placed.endswith("nice 5, CPU 1, CPU 0"), placed
assert "asked for 0 threads, replay off" in answer(replay=False), answer(replay=False)
