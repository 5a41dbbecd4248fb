# SPDX-License-Identifier: Apache-2.0
"""Greedy generation with a model that has its cache among its inputs and outputs."""
from typing import Callable

import numpy as np
import onnx
from onnx import helper

PROMPT = [5, 17, 101, 7, 250]
PAST = "past_seq"  # what names of the sizes of growing caches begin with

Run = Callable[[dict[str, np.ndarray]], dict[str, np.ndarray]]


def sizes_of(value: onnx.ValueInfoProto) -> list[int | str]:
    return [d.dim_param or d.dim_value for d in value.type.tensor_type.shape.dim]


def is_cache(value: onnx.ValueInfoProto) -> bool:
    return len(sizes_of(value)) > 2


def past_symbols(model: onnx.ModelProto) -> list[str]:
    """Symbols that are 0 where the cache is empty."""
    return sorted({s for v in model.graph.input for s in sizes_of(v)
                   if isinstance(s, str) and s.startswith(PAST) and s.isidentifier()})


def empty_caches(model: onnx.ModelProto, room: int, head_size: int) -> dict[str, np.ndarray]:
    """`room`: of caches whose length the model leaves open."""
    found = {}
    for value in filter(is_cache, model.graph.input):
        shape = [1, *sizes_of(value)[1:]]
        shape = [room if str(s).startswith(PAST) else head_size if isinstance(s, str) else s
                 for s in shape]
        dtype = helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
        found[value.name] = np.zeros(shape, dtype)
    return found


def fed_by(model: onnx.ModelProto) -> dict[str, str]:
    """The output that each cache among the inputs has in the next step."""
    outputs = {o.name for o in model.graph.output}
    found = {}
    for value in filter(is_cache, model.graph.input):
        names = {value.name.replace("past_key_values.", "present."), "updated_" + value.name}
        found[value.name], = names & outputs
    return found


def feeds_of(model: onnx.ModelProto, tokens: list[int], start: int, caches: dict) -> dict:
    """One sequence, of which `start` tokens are in the caches."""
    total = start + len(tokens)
    known = {"input_ids": np.array([tokens], np.int64),
             "attention_mask": np.ones((1, total), np.int64),
             "position_ids": np.arange(start, total, dtype=np.int64)[None],
             "write_indices": np.array([start], np.int64),
             "nonpad_kv_seqlen": np.array([total], np.int64)} | caches
    return {v.name: known[v.name] for v in model.graph.input}


def generate(run: Run, model: onnx.ModelProto, steps: int, room: int = 0, head_size: int = 16,
             given: list[int] | None = None) -> tuple[list[int], np.ndarray]:
    """The likeliest token after each step, and its logits. The next step is told these tokens, or
    `given`."""
    caches, source = empty_caches(model, room, head_size), fed_by(model)
    tokens, start, found, logits = PROMPT, 0, [], []
    for step in range(steps):
        results = run(feeds_of(model, tokens, start, caches))
        caches = {name: results[output] for name, output in source.items()}
        logits.append(results["logits"][0, -1].astype(np.float32))
        found.append(int(logits[-1].argmax()))
        start += len(tokens)
        tokens = [found[-1] if given is None else given[step]]
    return found, np.array(logits)
