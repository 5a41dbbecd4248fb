#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Architectures of torchvision, transformers and nets.py in their usual sizes, with seeded random
weights, as ONNX models of float32 for one example.

    export.py NAME MODEL.onnx

Runs with the Python of scripts/torch-models.sh (torch, torchvision, transformers).
"""
import argparse
from collections.abc import Callable
from pathlib import Path

import nets
import torch

Example = tuple[torch.nn.Module, dict[str, torch.Tensor]]


def image(name: str, size: int = 224, kind: str = "", **options) -> Callable[[], Example]:
    def make() -> Example:
        from torchvision import models
        made_by = getattr(models, kind) if kind else models
        module = getattr(made_by, name)(weights=None, **options)
        return module, {"x": torch.randn(1, 3, size, size)}
    return make


def own(build: Callable[[], torch.nn.Module], *shape: int) -> Callable[[], Example]:
    return lambda: (build(), {"x": torch.randn(1, *shape)})


class Segmented(torch.nn.Module):
    """The map alone, of what gives a dictionary."""

    def __init__(self, module: torch.nn.Module):
        super().__init__()
        self.module = module

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.module(x)["out"]


def segmentation(name: str) -> Callable[[], Example]:
    def make() -> Example:
        module, example = image(name, kind="segmentation", weights_backbone=None)()
        return Segmented(module), example
    return make


class Last(torch.nn.Module):
    """The first result alone: no cache of keys and values among them."""

    def __init__(self, module: torch.nn.Module, names: list[str]):
        super().__init__()
        self.module, self.names = module, names

    def forward(self, *inputs: torch.Tensor) -> torch.Tensor:
        return self.module(**dict(zip(self.names, inputs)), return_dict=False)[0]


def text(kind: str, length: int, options: dict, decoded: int = 0) -> Callable[[], Example]:
    def make() -> Example:
        import transformers
        made_of = getattr(transformers, kind)
        module = made_of(made_of.config_class(**options))
        ids = {"input_ids": torch.randint(1, 500, (1, length))}
        if decoded:
            ids["decoder_input_ids"] = torch.randint(1, 500, (1, decoded))
        return Last(module, list(ids)), ids
    return make


def whisper_encoder() -> Example:
    from transformers import WhisperConfig, WhisperModel
    config = WhisperConfig(d_model=384, encoder_layers=4, encoder_attention_heads=6,
                           encoder_ffn_dim=1536)
    return (Last(WhisperModel(config).encoder, ["input_features"]),
            {"input_features": torch.randn(1, 80, 3000)})


LLAMA = {"hidden_size": 768, "num_hidden_layers": 8, "num_attention_heads": 12,
         "num_key_value_heads": 4, "intermediate_size": 2048, "vocab_size": 8000,
         "use_cache": False}
DEBERTA = {"hidden_size": 768, "num_hidden_layers": 6, "num_attention_heads": 12,
           "intermediate_size": 3072, "vocab_size": 30000, "relative_attention": True,
           "position_buckets": 256, "pos_att_type": ["p2c", "c2p"], "type_vocab_size": 0}
T5 = {"use_cache": False}  # its defaults are those of t5-small

ARCHITECTURES: dict[str, Callable[[], Example]] = {
    "cell_net": own(nets.CellNet, 3, 224, 224),
    "convnext_tiny": image("convnext_tiny"),
    "deberta": text("DebertaV2Model", 128, DEBERTA),
    "densenet121": image("densenet121"),
    "efficientnet_b0": image("efficientnet_b0"),
    "swin_t": image("swin_t"),
    "t5_small": text("T5Model", 64, T5, decoded=32),
    "whisper_tiny_encoder": whisper_encoder,
    "deeplabv3_resnet50": segmentation("deeplabv3_resnet50"),
    "fcn_resnet50": segmentation("fcn_resnet50"),
    "generator": own(nets.Generator, 100, 1, 1),
    "resnext50": image("resnext50_32x4d"),
    "llama_like": text("LlamaModel", 64, LLAMA),
    "distilbert": text("DistilBertModel", 128, {}),
}
def trained(module: torch.nn.Module) -> None:
    """Norms as training leaves them: those that are made new do nothing, and are folded to that."""
    for part in module.modules():
        if isinstance(part, torch.nn.BatchNorm2d):
            torch.nn.init.uniform_(part.weight, 0.5, 1.5)
            torch.nn.init.normal_(part.bias, std=0.1)
            part.running_mean.normal_(std=0.1)
            part.running_var.uniform_(0.5, 1.5)


# What torch.export does not take.
TRACED = {"t5_small"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", choices=ARCHITECTURES)
    parser.add_argument("model", type=Path)
    options = parser.parse_args()
    torch.manual_seed(0)
    module, example = ARCHITECTURES[options.name]()
    trained(module)
    module.eval()
    torch.onnx.export(module, tuple(example.values()), options.model,
                      dynamo=options.name not in TRACED, input_names=list(example),
                      **({} if options.name in TRACED else {"external_data": False}))


if __name__ == "__main__":
    main()
