#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A module of torch as torch.compile runs it, with sentences of lengths that change. Needs torch,
onnx and onnxscript."""
import torch
from tessera import torch_backend


class Encoder(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = torch.nn.Embedding(100, 64)
        self.attention = torch.nn.MultiheadAttention(64, 4, batch_first=True)
        self.last = torch.nn.Linear(64, 8)

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        x = self.embedding(words)
        return self.last(x + self.attention(x, x, x, need_weights=False)[0]).mean(1)


def main() -> None:
    torch.manual_seed(0)
    torch.backends.mha.set_fastpath_enabled(False)  # its operator is torch's alone
    encoder = Encoder().eval()
    compiled = torch.compile(encoder, backend="tessera")
    with torch.no_grad():
        for length in (5, 9, 30):
            words = torch.randint(100, (2, length))
            difference = (compiled(words) - encoder(words)).abs().max().item()
            print(f"{length} words: largest difference {difference:.1e}")
    refused = [graph.refused for graph in torch_backend.graphs if graph.refused]
    print(f"{len(torch_backend.graphs) - len(refused)} graphs compiled, {len(refused)} in torch")


if __name__ == "__main__":
    main()
