#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Products of few rows with weights of a few bits, and of float16, in every form that models have.

    few_rows.py FOLDER --models             writes few_rows.onnx and plain.onnx there
    few_rows.py FOLDER [--types float16]    runs few_rows-TYPE.so and plain-TYPE.so there

Each case is a product of its own in one model, with odd sizes, groups of 32, 64 and 128, with zero
points and without, and numbers of rows that are written down or open. Results are compared with
sums in float64 of what the stored integers stand for; two runs must have the same bytes. A line
that begins with WRONG is a finding.
"""
import argparse
import itertools
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "abi"))

OPEN = 0
OPEN_ROWS = (1, 5, 16, 17, 40)
# Of the largest result. Data and results are rounded to the type; weights are, where many rows make
# a matrix of it.
MOST_ERROR = {"float32": 2e-5, "float16": 3e-3, "bfloat16": 2.5e-2}


def cases():
    """(name, rows, terms, columns, bits, group, has zero points, form)"""
    for rows in (1, 2, 5, 16, 17, OPEN):
        for group, zeros in ((32, False), (64, True), (128, False)):
            yield f"nbits4_{rows}_{group}", rows, 512, 73, 4, group, zeros, "nbits"
    for rows in (1, 5, 16, OPEN):
        yield f"nbits8_{rows}", rows, 384, 48, 8, 64, rows != 5, "nbits"
        yield f"int4_{rows}", rows, 320, 80, 4, 32, rows == 5, "rows"
        yield f"int8_{rows}", rows, 256, 33, 8, 128, rows == 16, "columns"
    yield "odd", 3, 333, 19, 4, 32, True, "nbits"
    yield "one_block", 2, 600, 33, 4, 1024, False, "nbits"
    yield "two_bits", 4, 640, 40, 2, 64, True, "nbits"
    yield "many_tiles", 1, 128, 16448, 4, 128, False, "nbits"


def integers(case):
    """Seeded by its sizes: [columns, terms], scales and zero points [columns, groups]."""
    _, rows, terms, columns, bits, group, has_zeros, form = case
    random = np.random.default_rng([rows, terms, columns, bits, group])
    blocks = -(-terms // group)
    q = random.integers(0, 2 ** bits, (columns, blocks * group))
    scale = random.integers(8, 24, (columns, blocks)) / 2.0 ** (7 + bits)  # exact in bfloat16
    middle = 2 ** (bits - 1)
    zero = (random.integers(0, 2 ** bits, (columns, blocks)) if has_zeros
            else np.full((columns, blocks), middle))
    if form != "nbits":
        q = q[:, :terms]
    return q, scale.astype(np.float32), zero


def matrix(case):
    q, scale, zero = integers(case)
    terms, group = case[2], case[5]
    spread = lambda v: np.repeat(v, group, axis=1)[:, :terms]  # noqa: E731
    return (q[:, :terms] - spread(zero)) * spread(scale).astype(np.float64)


def packed(values, bits):
    """Several in a byte of the last dimension, from the low bits on."""
    each = 8 // bits
    full = -(-values.shape[-1] // each) * each
    wide = np.zeros((*values.shape[:-1], full), np.uint8)
    wide[..., :values.shape[-1]] = values
    wide = wide.reshape(*values.shape[:-1], -1, each)
    return sum(wide[..., i] << (i * bits) for i in range(each)).astype(np.uint8)


def plain_cases():
    """(name, rows, terms, columns)"""
    for rows, (terms, columns) in itertools.product((1, 2, 5, 16), ((512, 200), (1032, 67))):
        yield f"plain_{rows}_{terms}", rows, terms, columns


def plain_matrix(case):
    _, rows, terms, columns = case
    random = np.random.default_rng([rows, terms, columns])
    return random.integers(-7, 8, (columns, terms)).astype(np.float32) / 128


def data(rows, terms, turn=0):
    random = np.random.default_rng([77, rows, terms, turn])
    return (random.integers(-1024, 1025, (rows, terms)) / 512).astype(np.float32)


# ---- Models

def write_models(folder):
    import onnx
    from onnx import TensorProto, helper, numpy_helper
    folder.mkdir(parents=True, exist_ok=True)

    def save(name, nodes, constants, inputs, outputs):
        graph = helper.make_graph(nodes, name, inputs, outputs, constants)
        opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
        onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=10),
                  folder / f"{name}.onnx")

    def value(name, rows, columns):
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, [rows, columns])

    def narrow(name, values, bits):
        """Signed, as ONNX has them: the middle of the range is 0."""
        signed = values - 2 ** (bits - 1)
        if bits == 8:
            return numpy_helper.from_array(signed.astype(np.int8), name)
        flat = packed((signed.flatten() & 15).astype(np.uint8), 4)
        return helper.make_tensor(name, TensorProto.INT4, values.shape, flat.tobytes(), raw=True)

    nodes, constants, inputs, outputs = [], [], [], []
    for case in cases():
        name, rows, terms, columns, bits, group, has_zeros, form = case
        q, scale, zero = integers(case)
        rows = f"rows_{name}" if rows == OPEN else rows
        inputs.append(value(f"x_{name}", rows, terms))
        outputs.append(value(f"y_{name}", rows, columns))
        if form == "nbits":
            words = packed(q.astype(np.uint8), bits).reshape(columns, -1, group * bits // 8)
            constants += [numpy_helper.from_array(words, f"w_{name}"),
                          numpy_helper.from_array(scale, f"s_{name}")]
            names = [f"x_{name}", f"w_{name}", f"s_{name}"]
            if has_zeros:
                constants.append(numpy_helper.from_array(packed(zero, bits), f"z_{name}"))
                names.append(f"z_{name}")
            nodes.append(helper.make_node("MatMulNBits", names, [f"y_{name}"], name=name, K=terms,
                                          N=columns, bits=bits, block_size=group,
                                          domain="com.microsoft"))
            continue
        by_rows = form == "rows"
        turned = (lambda v: v) if by_rows else np.transpose
        constants += [narrow(f"w_{name}", turned(q), bits),
                      numpy_helper.from_array(np.ascontiguousarray(turned(scale)), f"s_{name}")]
        names = [f"w_{name}", f"s_{name}"]
        if has_zeros:
            constants.append(narrow(f"z_{name}", turned(zero), bits))
            names.append(f"z_{name}")
        nodes.append(helper.make_node("DequantizeLinear", names, [f"d_{name}"], name=f"d_{name}",
                                      axis=1 if by_rows else 0, block_size=group))
        weight = f"d_{name}"
        if by_rows:
            nodes.append(helper.make_node("Transpose", [weight], [f"t_{name}"], perm=[1, 0]))
            weight = f"t_{name}"
        nodes.append(helper.make_node("MatMul", [f"x_{name}", weight], [f"y_{name}"], name=name))
    save("few_rows", nodes, constants, inputs, outputs)

    nodes, constants, inputs, outputs = [], [], [], []
    for case in plain_cases():
        name, rows, terms, columns = case
        constants.append(numpy_helper.from_array(plain_matrix(case), f"w_{name}"))
        inputs.append(value(f"x_{name}", rows, terms))
        outputs.append(value(f"y_{name}", rows, columns))
        nodes.append(helper.make_node("Gemm", [f"x_{name}", f"w_{name}"], [f"y_{name}"], name=name,
                                      transB=1))
    save("plain", nodes, constants, inputs, outputs)


# ---- Results

def check(library, dtype, wanted_of, sizes):
    """All products of a library, for each of the numbers of rows that are open."""
    import ctypes_model as tessera
    good = True
    with tessera.Model(library) as model:
        for turn, open_rows in enumerate(OPEN_ROWS):
            feeds = {f"x_{name}": data(rows or open_rows, terms, turn)
                     for name, rows, terms in sizes}
            first = {k: v.copy() for k, v in model.run(feeds).items()}
            second = model.run(feeds)
            for name, rows, _ in sizes:
                y = first[f"y_{name}"].astype(np.float64)
                wanted = feeds[f"x_{name}"].astype(np.float64) @ wanted_of(name).T
                error = np.abs(y - wanted).max() / np.abs(wanted).max()
                same = first[f"y_{name}"].tobytes() == second[f"y_{name}"].tobytes()
                right = same and error <= MOST_ERROR[dtype]
                good &= right
                if not right or turn == 0:
                    print(f"{'ok' if right else 'WRONG'} {name} in {dtype}, "
                          f"{rows or open_rows} rows: error {error:.2g}"
                          f"{'' if same else ', two runs differ'}", flush=True)
    return good


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--models", action="store_true")
    parser.add_argument("--types", default="float32,float16,bfloat16")
    args = parser.parse_args()
    if args.models:
        return write_models(args.folder)
    of_words = {c[0]: c for c in cases()}
    plain = {c[0]: c for c in plain_cases()}
    good = True
    for dtype in args.types.split(","):
        good &= check(args.folder / f"few_rows-{dtype}.so", dtype,
                      lambda name: matrix(of_words[name]), [c[:3] for c in cases()])
        good &= check(args.folder / f"plain-{dtype}.so", dtype,
                      lambda name: plain_matrix(plain[name]), [c[:3] for c in plain_cases()])
    return sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
