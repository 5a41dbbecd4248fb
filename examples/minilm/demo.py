#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Embeds a handful of sentences with the compiled model and compares with onnxruntime: the numbers,
and the time of one run, interleaved in this process. Exit 1 if the numbers differ."""
import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import onnxruntime

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "abi"))
import ctypes_model as tessera  # noqa: E402
from tokenizer import Tokenizer  # noqa: E402
from write_onnx import SEQUENCE, model_folder  # noqa: E402

SENTENCES = [
    "A cat sleeps on the sofa.",
    "A kitten is dozing on the couch.",
    "The stock market fell sharply today.",
    "Shares dropped on Wall Street.",
    "How do I reset my password?",
    "I cannot log in because I forgot my passphrase.",
]
TOLERANCE = 1e-4
ROUNDS, RUNS = 15, 8
PAUSE_S = 0.05  # lets the other engine's idle threads stop spinning


def onnxruntime_session(path: Path, threads: int) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def median_ms(engines: dict) -> dict[str, float]:
    times = {name: [] for name in engines}
    for run in engines.values():
        run()
    for _ in range(ROUNDS):
        for name, run in engines.items():
            time.sleep(PAUSE_S)
            run()
            for _ in range(RUNS):
                start = time.perf_counter()
                run()
                times[name].append(time.perf_counter() - start)
    return {name: 1e3 * float(np.median(t)) for name, t in times.items()}


def print_similarities(ours: np.ndarray) -> None:
    print("\ncosine similarities")
    similarity = ours @ ours.T
    for index, sentence in enumerate(SENTENCES):
        row = " ".join(f"{s:6.2f}" for s in similarity[index, :index + 1])
        print(f"  {index + 1}  {sentence:<48} {row}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--onnx", type=Path, required=True)
    parser.add_argument("--library", type=Path, required=True)
    parser.add_argument("--embed", type=Path, required=True, help="the program made of embed.c")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    options = parser.parse_args()

    tokenizer = Tokenizer(model_folder() / "vocab.txt")
    rows = np.zeros((len(SENTENCES), 3, SEQUENCE), np.int64)  # ids, mask, token types
    for row, sentence in zip(rows, SENTENCES):
        row[0], row[1] = tokenizer.encode(sentence, SEQUENCE)

    embedded = subprocess.run([options.embed.resolve()], input=rows.tobytes(), check=True,
                              stdout=subprocess.PIPE).stdout
    ours = np.frombuffer(embedded, np.float32).reshape(len(SENTENCES), -1)

    session = onnxruntime_session(options.onnx, options.threads)
    names = ("input_ids", "attention_mask", "token_type_ids")
    feeds = [{n: row[i:i + 1] for i, n in enumerate(names)} for row in rows]
    theirs = np.concatenate([session.run(None, feed)[0] for feed in feeds])

    print_similarities(ours)
    error = float(np.abs(ours - theirs).max() / np.abs(theirs).max())
    verdict = "agrees" if error <= TOLERANCE else "DIFFERS"
    print(f"\n{verdict} with onnxruntime: largest difference {error:.1e} of the largest value")

    with tessera.Model(options.library, options.threads) as model:
        medians = median_ms({"tessera": model.bind(feeds[0]),
                             "onnxruntime": lambda: session.run(None, feeds[0])})
    print(f"median of {ROUNDS * RUNS} runs, {options.threads} thread(s), interleaved: "
          + ", ".join(f"{name} {ms:.2f} ms" for name, ms in medians.items()))
    sys.exit(error > TOLERANCE)


if __name__ == "__main__":
    main()
