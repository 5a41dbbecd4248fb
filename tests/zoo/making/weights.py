# SPDX-License-Identifier: Apache-2.0
"""Random weights with which activations neither vanish nor explode, and nothing is constant: a lost
bias or scale shows in the output."""
import torch
from torch import nn

LIMIT = 3.4  # standard deviations; what hydrate.py draws has no further tail


def normal(like: torch.Tensor, mean: float, std: float) -> torch.Tensor:
    return torch.randn(like.shape).clamp(-LIMIT, LIMIT).mul(std).add(mean).to(like.dtype)


def fan_in(owner: nn.Module, weight: torch.Tensor) -> int:
    if isinstance(owner, nn.modules.conv._ConvTransposeNd):
        steps = 1
        for s in owner.stride:
            steps *= s
        return max(1, weight.shape[0] * weight[0, 0].numel() // (owner.groups * steps))
    if type(owner).__name__ == "Conv1D":  # GPT-2's, stored transposed
        return weight.shape[0]
    return weight[0].numel()


def is_norm(owner: nn.Module) -> bool:
    return "Norm" in type(owner).__name__


def new_value(owner: nn.Module, name: str, p: torch.Tensor) -> torch.Tensor | None:
    if not p.is_floating_point() or p.numel() == 0:
        return None
    if isinstance(owner, nn.Embedding):
        return normal(p, 0, 0.5)
    if is_norm(owner) and p.ndim == 1:
        scale = name.endswith(("weight", "gamma", "scale")) or name == "running_var"
        offset = "Gemma" in type(owner).__name__  # its scale is 1 + weight
        return normal(p, 1.0 if scale and not offset else 0.0, 0.1 if scale else 0.05)
    if isinstance(owner, nn.RNNBase):
        return normal(p, 0, owner.hidden_size ** -0.5)
    if "bias" in name:
        return normal(p, 0, 0.05)
    if "gamma" in name or "lambda" in name or "layer_scale" in name:
        return normal(p, 0.5, 0.1)
    if p.ndim >= 2:
        return normal(p, 0, fan_in(owner, p) ** -0.5)
    return normal(p, float(p.float().mean()), 0.05)


@torch.no_grad()
def initialise(module: nn.Module) -> None:
    done = set()
    for owner in module.modules():
        own = list(owner.named_parameters(recurse=False))
        if is_norm(owner):
            own += [(n, b) for n, b in owner.named_buffers(recurse=False) if b is not None]
        for name, p in own:
            if id(p) in done:  # shared weights
                continue
            done.add(id(p))
            value = new_value(owner, name, p)
            if value is not None:
                p.copy_(value)
