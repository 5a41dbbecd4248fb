# SPDX-License-Identifier: Apache-2.0
"""Graphs with branches and loops."""
import onnx
import torch
from onnx import helper
from torch import nn

from making.model import Input, Model, floats

X = {"x": floats("rows", 8)}
SIZES = ({"rows": 5}, {"rows": 1})
COUNT = Input((), "integers", "int64", 0, 6)


class Scripted(nn.Module):
    """A loop as often as an input says."""

    def __init__(self):
        super().__init__()
        self.step = nn.Linear(8, 8)

    def forward(self, x, count: torch.Tensor):
        for _ in range(int(count)):
            x = torch.tanh(self.step(x))
        return x


class EarlyExit(nn.Module):
    """Leaves its loop when the mean is small; a branch in the body."""

    def __init__(self):
        super().__init__()
        self.step = nn.Linear(8, 8)

    def forward(self, x):
        steps = 0
        while steps < 10 and bool(x.abs().mean() > 0.2):
            if bool(x.sum() > 0):
                x = x * 0.7 - self.step(x) * 0.05
            else:
                x = torch.sigmoid(x) * 0.5
            steps += 1
        return x


class Branch(nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.two = nn.Linear(8, 4), nn.Linear(8, 4)

    def forward(self, x):
        if bool(x.mean() > 0):
            y = torch.relu(self.one(x))
        else:
            y = self.two(x) * 2
        return y + 1


class Cond(nn.Module):
    """torch.cond, as dynamo exports it."""

    def __init__(self):
        super().__init__()
        self.one, self.two = nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, x):
        return torch.cond(x.mean() > 0, lambda y: torch.relu(self.one(y)),
                          lambda y: self.two(y).sin(), (x,))


class Greedy(nn.Module):
    """Greedy decoding: the loop appends what it found to the ids."""

    def __init__(self):
        super().__init__()
        self.embed, self.rnn = nn.Embedding(19, 8), nn.GRUCell(8, 8)
        self.out = nn.Linear(8, 19)

    def forward(self, h):
        token = torch.zeros(h.shape[0], dtype=torch.long)
        found = [token]
        for _ in range(5):
            h = self.rnn(self.embed(token), h)
            token = self.out(h).argmax(-1)
            found.append(token)
        return torch.stack(found, 1)


class Growing(nn.Module):
    """Carries a tensor that grows."""

    def __init__(self):
        super().__init__()
        self.step = nn.Linear(8, 8)

    def forward(self, x, count: torch.Tensor):
        rows = x
        for i in range(int(count)):
            rows = torch.cat([rows, torch.tanh(self.step(rows[-1:]))], 0)
        return rows, rows.sum(0)


class Selected(nn.Module):
    """Sizes that data decide: a mask, unique places, a sum for each."""

    def forward(self, x):
        rows = x[x[:, 0] > 0]
        places = torch.nonzero(x > 1)
        return rows * 2, places, torch.cumsum(rows, 0)


class Experts(nn.Module):
    """Each row goes to one of three experts, gathered by a mask."""

    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(8, 3)
        self.experts = nn.ModuleList(nn.Linear(8, 8) for _ in range(3))

    def forward(self, x):
        chosen = self.gate(x).argmax(-1)
        out = torch.zeros_like(x)
        for index, expert in enumerate(self.experts):
            rows = torch.nonzero(chosen == index).squeeze(1)
            out = out.index_add(0, rows, expert(x[rows]))
        return out


PARSED = {
    # onnx's own text format; W is a constant that each reads.
    "scan": """
        <ir_version: 8, opset_import: ["" : {opset}]>
        scan (float[8] h0, float[rows, 8] x) => (float[8] h, float[rows, 8] all)
        {{ h, all = Scan <num_scan_inputs = 1, body = step (float[8] a, float[8] b)
             => (float[8] a2, float[8] r)
             {{ s = Add(a, b)  t = Tanh(s)  a2 = Identity(t)  r = Mul(t, b) }}> (h0, x) }}""",
    "nested_if": """
        <ir_version: 8, opset_import: ["" : {opset}]>
        nested (float[rows, 8] x, int64 k) => (float[rows, n] y)
        <int64 zero = {{0}}, int64 three = {{3}}, int64[1] a = {{0}}, int64[1] b = {{4}},
         int64[1] one = {{1}}>
        {{ big = Greater(k, three)
           y = If (big) <then_branch = t () => (float[rows, n1] p)
             {{ pos = Greater(k, zero)
                p = If (pos) <then_branch = tt () => (float[rows, n2] q) {{ q = Neg(x) }},
                              else_branch = te () => (float[rows, n3] r) {{ r = Exp(x) }}> }},
             else_branch = e () => (float[rows, n4] s) {{ s = Slice(x, a, b, one) }}> }}""",
    "fibonacci": """
        <ir_version: 8, opset_import: ["" : {opset}]>
        fibonacci (float[rows, 8] x, int64 k) => (float[rows, 8] a, float[rows, 8] b,
                                                  float[m, rows, 8] all)
        <bool yes = {{1}}, float half = {{0.5}}>
        {{ a, b, all = Loop (k, yes, x, x) <body = step (int64 i, bool c, float[rows, 8] p,
             float[rows, 8] q) => (bool d, float[rows, 8] p2, float[rows, 8] q2,
             float[rows, 8] w)
             {{ d = Identity(c)  s = Add(p, q)  q2 = Mul(s, half)  p2 = Identity(q)
                w = Sub(q2, x) }}> }}""",
    "bubble": """
        <ir_version: 8, opset_import: ["" : {opset}]>
        bubble (float[rows, 8] x) => (float[rows, 8] y)
        <int64 n = {{4}}, int64 m = {{3}}, bool yes = {{1}}, float limit = {{2.0}}>
        {{ y = Loop (n, yes, x) <body = outer (int64 i, bool c, float[rows, 8] p)
             => (bool d, float[rows, 8] r)
             {{ r = Loop (m, yes, p) <body = inner (int64 j, bool e, float[rows, 8] q)
                  => (bool f, float[rows, 8] q2)
                  {{ s = Sin(q)  q2 = Add(s, p)  top = ReduceMax <keepdims = 0> (q2)
                     f = Less(top, limit) }}>
                low = ReduceMin <keepdims = 0> (r)  d = Less(low, limit) }}> }}""",
}


def parsed(name):
    def build(variant) -> onnx.ModelProto:
        model = onnx.parser.parse_model(PARSED[name].format(opset=variant.opset))
        onnx.checker.check_model(model)
        return model
    return build


def sequence(variant) -> onnx.ModelProto:
    """A sequence of tensors, whose number is known."""
    node, value = helper.make_node, helper.make_tensor_value_info
    nodes = [node("SplitToSequence", ["x"], ["s"], axis=1),
             node("ConcatFromSequence", ["s"], ["y"], axis=0)]
    graph = helper.make_graph(nodes, "sequence", [value("x", 1, ["rows", 8])],
                              [value("y", 1, None)])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", variant.opset)],
                             ir_version=8)


MODELS = [
    Model("scripted_loop", Scripted, X | {"count": COUNT}, ("legacy17.open", "legacy20"), SIZES,
          script=True),
    Model("early_exit", EarlyExit, X, ("legacy17.open", "legacy17"), SIZES, script=True),
    Model("branch", Branch, X, ("legacy17.open", "legacy17.extended"), SIZES, script=True),
    Model("torch_cond", Cond, X, ("dynamo20", "dynamo20.open"), SIZES),
    Model("greedy", Greedy, {"h": floats("rows", 8)}, ("legacy17.open", "dynamo20"), SIZES),
    Model("growing", Growing, X | {"count": COUNT}, ("legacy17.open", "legacy20.open"), SIZES,
          script=True),
    Model("selected", Selected, X, ("legacy17.open", "dynamo20"), SIZES),
    Model("experts", Experts, X, ("legacy17.open", "dynamo20"), SIZES),
    Model("scan", parsed("scan"), {"h0": floats(8)} | {"x": floats("rows", 8)},
          ("direct17.open", "direct21.open"), SIZES),
    Model("nested_if", parsed("nested_if"), X | {"k": COUNT}, ("direct17.open",), SIZES),
    Model("fibonacci", parsed("fibonacci"), X | {"k": COUNT}, ("direct17.open", "direct21.open"),
          SIZES),
    Model("nested_loop", parsed("bubble"), X, ("direct17.open",), SIZES),
    Model("sequence", sequence, X, ("direct17.open",), SIZES),
]
