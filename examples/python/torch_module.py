#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A module of torch, compiled for batches of any size up to 64, beside torch itself. Needs torch,
onnx and onnxscript."""
import tessera
import torch


def main() -> None:
    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.GELU(), torch.nn.Linear(256, 8))
    batch = torch.export.Dim("batch", min=1, max=64)
    model = tessera.compile(module, example_inputs=(torch.randn(2, 64),),
                            dynamic_shapes=({0: batch},))
    print(model)
    for size in (1, 7, 64):
        x = torch.randn(size, 64)
        difference = (model(x) - module(x)).abs().max().item()
        print(f"batch {size}: largest difference {difference:.1e}")


if __name__ == "__main__":
    main()
