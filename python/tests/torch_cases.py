# SPDX-License-Identifier: Apache-2.0
"""What tests of torch.compile(backend="tessera") share: modules, and how they are compared."""
import copy
import unittest
import warnings
from unittest import mock

try:
    import onnxscript  # noqa: F401
    import torch
    from torch import nn
    from tessera import torch_backend
    # It warns of itself.
    warnings.filterwarnings("ignore", module="torch")
except ImportError:
    torch = None
    nn = torch_backend = mock.MagicMock()


class Backend(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)
        torch._dynamo.reset()
        torch_backend.graphs.clear()
        torch_backend._told.clear()

    def compiled(self) -> int:
        return sum(not graph.refused for graph in torch_backend.graphs)

    def refused(self) -> list[str]:
        return [graph.refused for graph in torch_backend.graphs if graph.refused]

    def same(self, function, *calls, eager=None, rtol=1e-4, atol=1e-5, **options):
        """Compiled and called with each of the sets of arguments, it does what it does in torch:
        its results, their layout, and what becomes of the arguments."""
        eager = eager or copy.deepcopy(function)
        fast = torch.compile(function, backend="tessera", **options)
        with torch.no_grad():
            for args in calls:
                ours, theirs = copy.deepcopy(args), copy.deepcopy(args)
                got, wanted = fast(*ours), eager(*theirs)
                torch.testing.assert_close((got, ours), (wanted, theirs), rtol=rtol, atol=atol)
                for a, b in zip(torch.utils._pytree.tree_leaves(got),
                                torch.utils._pytree.tree_leaves(wanted)):
                    self.assertIs(type(a), type(b))
                    if isinstance(a, torch.Tensor):
                        self.assertEqual(a.stride(), b.stride())
        return fast


def perceptron(*sizes: int) -> "nn.Module":
    layers = [layer for a, b in zip(sizes, sizes[1:]) for layer in (nn.Linear(a, b), nn.GELU())]
    return nn.Sequential(*layers).eval()


class Convolutions(nn.Module if torch else object):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 8, 3, stride=2), nn.BatchNorm2d(8), nn.ReLU(),
                                  nn.Conv2d(8, 8, 3, padding=1, groups=4), nn.Hardswish(),
                                  nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 4))

    def forward(self, x):
        return self.body(x)


class Attention(nn.Module if torch else object):
    def __init__(self):
        super().__init__()
        torch.backends.mha.set_fastpath_enabled(False)  # an operator of torch's alone
        self.embedding = nn.Embedding(50, 32)
        self.layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True)

    def forward(self, ids):
        return self.layer(self.embedding(ids))
