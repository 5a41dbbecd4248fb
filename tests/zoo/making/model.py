# SPDX-License-Identifier: Apache-2.0
"""What a family file says about a model: how PyTorch builds it, its inputs, and in which variants
it is kept."""
from dataclasses import dataclass, field
from typing import Callable

Size = int | str  # a number, or a symbol, or a sum of symbols such as "past+seq"


@dataclass(frozen=True)
class Input:
    """`kind`: "normal" (floats), "integers" in [low, high], "mask" (ones, then zeros at the end of
    each row but the first), "ones", "booleans"."""
    shape: tuple[Size, ...]
    kind: str = "normal"
    dtype: str = "float32"
    low: int = 0
    high: int = 0


def floats(*shape: Size) -> Input:
    return Input(shape)


def ids(*shape: Size, below: int = 97) -> Input:
    return Input(shape, "integers", "int64", 0, below - 1)


def mask(*shape: Size) -> Input:
    return Input(shape, "mask", "int64")


def ones(*shape: Size) -> Input:
    return Input(shape, "ones", "int64")


@dataclass(frozen=True)
class Model:
    """`sizes`: values of the symbols in the two sets of inputs; models are exported with the first,
    and with static sizes only the first is kept. `variants` are names such as "legacy17",
    "dynamo20.open.fp16": exporter and opset, then whether sizes stay open, then what is done to the
    file. `build` returns a module, or for exporter "direct" an ONNX model."""
    name: str
    build: Callable
    inputs: dict[str, Input]
    variants: tuple[str, ...]
    sizes: tuple[dict[str, int], ...] = ({}, {})
    keep_weights: bool = False  # of a module whose own initial weights are sensible
    script: bool = False        # torch.jit.script instead of a trace


@dataclass(frozen=True)
class Variant:
    exporter: str  # "legacy", "dynamo" or "direct"
    opset: int
    is_open: bool
    changes: tuple[str, ...] = field(default_factory=tuple)


def parse_variant(text: str) -> Variant:
    first, *rest = text.split(".")
    exporter = first.rstrip("0123456789")
    is_open = "open" in rest
    return Variant(exporter, int(first[len(exporter):]), is_open,
                   tuple(r for r in rest if r != "open"))


def shape_of(given: Input, sizes: dict[str, int]) -> list[int]:
    return [d if isinstance(d, int) else eval(d, {}, dict(sizes)) for d in given.shape]
