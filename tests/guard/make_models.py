#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes small models whose sizes are open wherever an operator relies on their agreement, and
whose data are indices or sizes: make_models.py OUT_DIR [ZOO_DIR]

With the second folder the models of the zoo, filled, too.
"""
import sys
from pathlib import Path

import onnx

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "zoo"))
from hydrate import MODELS as SKELETONS, hydrate  # noqa: E402

OPSET = 17

# NAME: inputs, nodes, and the opset where it is another. The output is `y`.
MODELS = {
    # The producer of a view must not write before the view's size is known to fit.
    "matmul_reshape": ("float[N,64] x, float[64,64] w",
                       "m = MatMul (x, w)  y = Reshape (m, s)", "int64[3] s = {1,8,8}"),
    "softmax_reshape": ("float[N,8] x", "m = Softmax (x)  y = Reshape (m, s)",
                        "int64[2] s = {4,4}"),
    "norm_reshape": ("float[N,16] x, float[16] g",
                     "m = LayerNormalization (x, g)  y = Reshape (m, s)", "int64[2] s = {4,8}"),
    "conv_reshape": ("float[N,3,H,W] x, float[4,3,3,3] w",
                     "m = Conv (x, w)  y = Reshape (m, s)", "int64[4] s = {1,4,6,6}"),
    "add_squeeze": ("float[N,M] a, float[N,M] b", "m = Add (a, b)  y = Squeeze (m, s)",
                    "int64[1] s = {0}"),
    "reshape_of_data": ("float[N,4] x, int64[3] s", "m = Relu (x)  y = Reshape (m, s)"),
    "flatten_matmul": ("float[N,C,H] x, float[12,5] w", "m = Flatten (x)  y = MatMul (m, w)"),
    # Agreements between operands.
    "affine_grid": ("float[A,2,3] t", "y = AffineGrid (t, s)", "int64[4] s = {8,1,4,4}", 20),
    "add": ("float[A,B] x, float[C,D] z", "y = Add (x, z)"),
    "where": ("bool[A,1] c, float[B,C] x, float[D] z", "y = Where (c, x, z)"),
    "matmul": ("float[A,B,C] x, float[D,E,F] z", "y = MatMul (x, z)"),
    "gemm": ("float[A,B] x, float[C,D] w, float[E,F] c", "y = Gemm <transB = 1> (x, w, c)"),
    "einsum": ('float[2,3,4] x, float[4,5] z', 'y = Einsum <equation = "abc,cd->abd"> (x, z)'),
    "concat": ("float[A,B] x, float[C,D] z", "y = Concat <axis = 1> (x, z)"),
    "concat_of_two": ("float[2,2] x, float[2,2] z", "y = Concat <axis = 1> (x, z)"),
    "concat_of_three": ("float[3,1] x, float[3,3] z, float[3,2] t",
                        "y = Concat <axis = -1> (x, z, t)"),
    "conv": ("float[N,C,H,W] x, float[3,3,3,3] w, float[B] b", "y = Conv (x, w, b)"),
    "conv_grouped": ("float[N,C,H,W] x, float[6,2,3,3] w",
                     "y = Conv <group = 2, pads = [1,1,1,1]> (x, w)"),
    "conv_depthwise": ("float[N,8,H,W] x, float[8,1,3,3] w",
                       "y = Conv <group = 8, strides = [2,2]> (x, w)"),
    "conv_transpose": ("float[N,C,H,W] x, float[3,2,3,3] w, float[B] b",
                       "y = ConvTranspose <strides = [2,2]> (x, w, b)"),
    "conv_integer": ("uint8[1,3,H,W] x, uint8[4,3,3,3] w, uint8 z",
                     "y = ConvInteger <pads = [1,1,1,1]> (x, w, z)"),
    "max_pool": ("float[N,C,H,W] x",
                 "y = MaxPool <kernel_shape = [3,3], strides = [2,2], pads = [1,1,1,1]> (x)"),
    "average_pool": ("float[N,C,H,W] x",
                     "y = AveragePool <kernel_shape = [3,2], ceil_mode = 1, strides = [2,2]> (x)"),
    "global_pool": ("float[N,C,H,W] x", "y = GlobalAveragePool (x)"),
    "layer_norm": ("float[A,B] x, float[C] g, float[D] b", "y = LayerNormalization (x, g, b)"),
    "layer_norm_open_scale": ("float[4,64] x, float[N] g", "y = LayerNormalization (x, g)"),
    "batch_norm": ("float[N,C,H] x, float[A] g, float[B] b, float[D] m, float[E] v",
                   "y = BatchNormalization (x, g, b, m, v)"),
    "instance_norm": ("float[N,C,H] x, float[A] g, float[B] b",
                      "y = InstanceNormalization (x, g, b)"),
    "prelu": ("float[2,3,4] x, float[3,1] s", "y = PRelu (x, s)"),
    "expand": ("float[A,B] x", "y = Expand (x, s)", "int64[2] s = {3,4}"),
    "expand_to_data": ("float[A,1] x, int64[2] s", "y = Expand (x, s)"),
    "tile_by_data": ("float[A,B] x, int64[2] r", "y = Tile (x, r)"),
    "pad": ("float[A,B] x", "y = Pad (x, p)", "int64[4] p = {1,2,0,3}"),
    "pad_reflect": ("float[A,B] x", 'y = Pad <mode = "reflect"> (x, p)',
                    "int64[4] p = {1,2,0,3}"),
    "pad_small": ("float[2,3] x", "y = Pad (x, p)", "int64[4] p = {1,1,1,2}"),
    "slice_by_data": ("float[A,B] x, int64[1] b, int64[1] e, int64[1] s",
                      "y = Slice (x, b, e, a, s)", "int64[1] a = {1}"),
    "split": ("float[A,5] x", "a, y = Split <axis = 1> (x, s)", "int64[2] s = {2,3}"),
    "range_of_data": ("int64 a, int64 b, int64 c", "y = Range (a, b, c)"),
    "shape_of_data": ("int64[3] s", "y = ConstantOfShape (s)"),
    "resize": ("float[1,2,3,4] x", 'y = Resize <mode = "linear"> (x, , , s)',
               "int64[4] s = {1,2,5,7}"),
    "depth_to_space": ("float[N,C,H,W] x", "y = DepthToSpace <blocksize = 2> (x)"),
    # Indices out of data.
    "gather": ("float[A,B] x, int64[C] i", "y = Gather <axis = 0> (x, i)"),
    "gather_elements": ("float[A,B] x, int64[C,D] i", "y = GatherElements <axis = 1> (x, i)"),
    "gather_nd": ("float[A,B,3] x, int64[C,2] i", "y = GatherND (x, i)"),
    "scatter_elements": ("float[A,B] x, int64[C,D] i, float[E,F] u",
                         "y = ScatterElements <axis = 0> (x, i, u)"),
    "scatter_nd": ("float[A,B] x, int64[C,1] i, float[D,E] u", "y = ScatterND (x, i, u)"),
    "max_unpool": ("float[1,3,2,2] x, int64[1,3,2,2] i",
                   "y = MaxUnpool <kernel_shape = [2,2], strides = [2,2]> (x, i)"),
    "one_hot": ("int64[7] i, float[2] v", "y = OneHot <axis = 0> (i, d, v)", "int64 d = {5}"),
    "top_k": ("float[A,B] x, int64[1] k", "y, i = TopK (x, k)"),
    "loss": ("float[4,5] x, int64[4] t", "y = SoftmaxCrossEntropyLoss (x, t)"),
    "loss_weighted": ("float[2,5,3] x, int64[2,3] t, float[5] w",
                      "y = NegativeLogLikelihoodLoss (x, t, w)"),
    "boxes": ("float[1,A,4] b, float[1,2,B] s",
              "y = NonMaxSuppression (b, s, m)", "int64 m = {3}"),
    "regions": ("float[N,2,H,W] x, float[R,4] r, int64[S] i",
                "y = RoiAlign <sampling_ratio = 2, output_height = 2, output_width = 2> (x, r, i)"),
    # Recurrent, and bodies.
    "lstm": ("float[5,2,3] x, float[1,8,3] w, float[1,8,2] r, float[1,2,2] h",
             "a, y = LSTM <hidden_size = 2> (x, w, r, , , h)"),
    "gru": ("float[5,2,3] x, float[1,6,3] w, float[1,6,2] r, int32[2] l",
            "a, y = GRU <hidden_size = 2> (x, w, r, , l)"),
    "scan": ("float[A,3] x, float[B,3] w",
             "y = Scan <num_scan_inputs = 2, body = b (float[3] p, float[3] q) => (float[3] r) "
             "{ r = Add (p, q) }> (x, w)"),
    "scan_of_nothing": ("float[0,0,1] h, float[A,3] x",
                        "s, y = Scan <num_scan_inputs = 1, body = b (float[3] p, float[3] q) => "
                        "(float[3] t, float[3] r) { t = Add (p, q) r = Mul (t, q) }> (h, x)"),
    "if": ("float[A,B] x, float[C,D] z, bool c",
           "y = If <then_branch = t () => (float[A,D] r) { r = Add (x, z) }, "
           "else_branch = e () => (float[A,B] r) { r = Relu (x) }> (c)"),
    "nonzero": ("float[A,B] x", "y = NonZero (x)"),
    "compress": ("float[A,B] x, bool[C] c", "y = Compress <axis = 0> (x, c)"),
    # Numbers that trap, and types of one and two bytes.
    "divide": ("int64[A] x, int64[B] z", "y = Div (x, z)"),
    "modulo": ("int32[A] x, int32[B] z", "y = Mod (x, z)"),
    "shift": ("uint8[A] x, uint8[B] z", 'y = BitShift <direction = "LEFT"> (x, z)'),
    "quantise": ("float[2,3] x, float[3] s, uint8[3] z", "y = QuantizeLinear <axis = 1> (x, s, z)"),
    "dequantise": ("int8[2,3] x, float[2] s, int8[2] z",
                   "y = DequantizeLinear <axis = 0> (x, s, z)"),
    "halves": ("float16[A,B] x, float16[C,D] z", "m = Softmax (x)  y = MatMul (m, z)"),
    "bytes_concat": ("uint8[A,3] x, uint8[B,5] z", "y = Concat <axis = 1> (x, z)"),
}


def model(name: str) -> onnx.ModelProto:
    inputs, nodes, *rest = MODELS[name]
    constants = "".join(f" <{part}>" for part in rest if isinstance(part, str))
    opset = next((part for part in rest if isinstance(part, int)), OPSET)
    nodes = nodes.replace("  y ", "\n y ")
    text = (f'<ir_version: 8, opset_import: ["" : {opset}]>\n'
            f"{name}_graph ({inputs}) => (float[] y){constants} {{ {nodes} }}")
    parsed = onnx.parser.parse_model(text)
    parsed.graph.output[0].ClearField("type")  # the compiler infers it
    return parsed


def main() -> None:
    if len(sys.argv) not in (2, 3):
        raise SystemExit(__doc__)
    own, *zoo = map(Path, sys.argv[1:])
    for folder in (own, *zoo):
        folder.mkdir(parents=True, exist_ok=True)
    for name in MODELS:
        onnx.save(model(name), own / f"{name}.onnx")
    for folder in zoo:
        for skeleton in sorted(SKELETONS.glob("*.onnx.gz")):
            onnx.save(hydrate(skeleton), folder / skeleton.name.removesuffix(".gz"))


if __name__ == "__main__":
    main()
