# SPDX-License-Identifier: Apache-2.0
"""Whole models as ONNX's text, whose results are onnxruntime's: sequences, optional values, narrow
types, and lists that come at run time."""
import numpy as np


def floats(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def ints(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


X = {"x": floats(4, 6)}
# Ties between two codes, numbers beyond the largest, subnormal ones, both zeros.
ROUGH = {"x": np.array([0, -0.0, 1, -1.0625, 1.1875, 0.3, 2e-3, -9e-4, 447, 465, -500, 7e4, -1e6,
                        1e-9, np.inf, -np.inf, np.nan], np.float32)}

SEQUENCES = {
    # A split in the middle, changed and put together again.
    "sequence_changed": (17, "float[4, 6] x) => (float[a, b] y, int64 n", """
        s = SplitToSequence <axis = 1> (x, two)
        t = SequenceInsert (s, x, one)
        u = SequenceErase (t, minus_one)
        n = SequenceLength (u)
        y = ConcatFromSequence <axis = 1> (u)""", X),
    "sequence_stacked": (17, "float[4, 6] x) => (float[a, b] y", """
        s = SplitToSequence <axis = 1, keepdims = 0> (x)
        y = ConcatFromSequence <axis = -1, new_axis = 1> (s)""", X),
    "sequence_at_data": (17, "float[4, 6] x, int64 at) => (float[a, b] y", """
        s = SplitToSequence <axis = 0> (x, two)
        y = SequenceAt (s, at)""", X | {"at": np.array(-1)}),
    "sequence_split_by_data": (17, "float[4, 6] x, int64[3] sizes) => (float[a, b] y", """
        s = SplitToSequence <axis = 1> (x, sizes)
        y = SequenceAt (s, one)""", X | {"sizes": ints(1, 3, 2)}),
    "sequence_loop": (17, "float[4, 6] x) => (float[a, b, c] y, float[3] rows", """
        none = SequenceEmpty ()
        s, rows = Loop (three, yes, none) <body = step (int64 i, bool go, seq(float[4, 6]) before)
          => (bool again, seq(float[4, 6]) after, float row)
          { again = Identity (go)  f = Cast <to = 1> (i)  z = Mul (x, f)
            after = SequenceInsert (before, z)  row = ReduceMax <keepdims = 0> (z) }>
        y = ConcatFromSequence <axis = 0, new_axis = 1> (s)""", X),
    "sequence_map": (17, "float[4, 6] x, float[1, 6] w) => (float[a, b] y", """
        s = SplitToSequence <axis = 0> (x, three)
        t = SequenceMap (s, w) <body = each (float[a, 6] u, float[1, 6] v) => (float[a, 6] z)
          { z = Add (u, v) }>
        y = ConcatFromSequence <axis = 0> (t)""", X | {"w": floats(1, 6, seed=1)}),
    "optional": (18, "float[4, 6] x) => (float[4, 6] y, bool b", """
        o = Optional (x)
        b = OptionalHasElement (o)
        y = If (b) <then_branch = yes () => (float[4, 6] u) { u = OptionalGetElement (o) },
                    else_branch = no () => (float[4, 6] v) { v = Neg (x) }>""", X),
}

PADS = {
    f"pad_{mode}_by_data": (19, "float[4, 6] x, int64[4] pads) => (float[a, b] y", f"""
        y = Pad <mode = "{mode}"> (x, pads)""", X | {"pads": ints(*pads)})
    for mode, pads in (("constant", (1, -2, 0, 3)), ("edge", (0, 2, 3, 1)),
                       ("reflect", (2, 0, 1, 4)), ("wrap", (1, 2, 5, 0)))
} | {
    "pad_axes_by_data": (19, "float[4, 6] x, int64[2] pads, int64[1] axes) => (float[a, b] y", """
        y = Pad (x, pads, half, axes)""", X | {"pads": ints(2, 1), "axes": ints(-1)}),
    "center_crop_pad_by_data": (18, "float[4, 6] x, int64[2] shape) => (float[a, b] y", """
        y = CenterCropPad (x, shape)""", X | {"shape": ints(7, 3)}),
}

NARROW = {
    f"cast_{name}_{saturate}": (19, "float[17] x) => (float[17] y", f"""
        z = Cast <to = {number}, saturate = {saturate}> (x)
        y = Cast <to = 1> (z)""", ROUGH)
    for name, number in (("e4m3fn", 17), ("e4m3fnuz", 18), ("e5m2", 19), ("e5m2fnuz", 20))
    for saturate in (0, 1)
} | {
    "quantize_int4": (21, "float[4, 6] x) => (float[4, 6] y", """
        z = QuantizeLinear <output_dtype = 22> (x, half)
        y = DequantizeLinear (z, half)""", X | {"x": floats(4, 6) * 3}),
    "quantize_e4m3fn": (19, "float[4, 6] x) => (float[4, 6] y", """
        zero = Cast <to = 17> (nothing)
        z = QuantizeLinear (x, half, zero)
        y = DequantizeLinear (z, half, zero)""", X),
}

SIGNALS = {
    "mel": (17, ") => (float[a, b] y", """
        y = MelWeightMatrix (bins, length, rate, low, high)""", {}),
    "lp_normalization_of_zeros": (17, "float[4, 6] x) => (float[4, 6] y", """
        m = Greater (x, nothing)
        z = Where (m, nothing, x)
        y = LpNormalization <axis = 0, p = 1> (z)""", {"x": np.abs(floats(4, 6)) + 1}),
}

TEXTS = SEQUENCES | PADS | NARROW | SIGNALS

CONSTANTS = """bool yes = {1}, int64 one = {1}, int64 two = {2}, int64 three = {3},
  int64 minus_one = {-1}, float half = {0.5}, float nothing = {0},
  int64 bins = {9}, int64 length = {64}, int64 rate = {8000}, float low = {80},
  float high = {3600}"""


def text_of(name: str) -> str:
    opset, ports, nodes, _ = TEXTS[name]
    return (f'<ir_version: 9, opset_import: ["" : {opset}]>\n'
            f"{name} ({ports}) <{CONSTANTS}> {{ {nodes} }}")
