# SPDX-License-Identifier: Apache-2.0
"""Runners that take turns, so that what disturbs the machine disturbs all, and the peer."""
import statistics

import onnxruntime


def onnxruntime_session(path, threads):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def milliseconds(runners, rounds, clock, choose=statistics.median):
    """Of each runner, what `choose` makes of its times; the first two rounds do not count."""
    times = {name: [] for name in runners}
    for turn in range(rounds + 2):
        for name, run in runners.items():
            begin = clock()
            run()
            if turn >= 2:
                times[name].append((clock() - begin) * 1e3)
    return {name: choose(t) for name, t in times.items()}
