# SPDX-License-Identifier: Apache-2.0
"""Modules of torchvision and transformers, with random weights and sizes that compile in seconds:
what a name stands for is a function that returns a module and two sets of its arguments."""
from __future__ import annotations

from collections.abc import Callable

import torch


def _image(name: str, size: int = 64, **options) -> Callable:
    def make():
        from torchvision import models
        module = models.get_model(name, weights=None, **options)
        return module, [{"args": (torch.randn(batch, 3, size, size),)} for batch in (2, 3)]
    return make


def _segmentation():
    from torchvision.models import segmentation
    module = segmentation.lraspp_mobilenet_v3_large(weights=None, weights_backbone=None)
    return module, [{"args": (torch.randn(batch, 3, 64, 64),)} for batch in (2, 3)]


def _tokens(batch: int, length: int) -> dict[str, torch.Tensor]:
    return {"input_ids": torch.randint(1, 500, (batch, length)),
            "attention_mask": torch.ones(batch, length, dtype=torch.int64)}


SIZES = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 500,
         "intermediate_size": 128}
GPT2 = {"n_embd": 64, "n_layer": 2, "n_head": 4, "vocab_size": 500}
DISTIL = {"dim": 64, "n_layers": 2, "n_heads": 4, "hidden_dim": 128, "vocab_size": 500}
T5 = {"d_model": 64, "num_layers": 2, "num_heads": 4, "d_kv": 16, "d_ff": 128, "vocab_size": 500}
OPT = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 500,
       "ffn_dim": 128, "word_embed_proj_dim": 64}
KEY_VALUES = {"num_key_value_heads": 2}


def _text(kind: str, options: dict, **more) -> Callable:
    """A model of transformers for text. Prompts have two lengths: a size that changes."""
    def make():
        import transformers
        made_of = getattr(transformers, kind)
        module = made_of(made_of.config_class(**options))
        return module, [{"kwargs": _tokens(*sizes) | more} for sizes in ((2, 12), (2, 19))]
    return make


def _encoder_decoder():
    module, calls = _text("T5ForConditionalGeneration", T5)()
    for call in calls:
        call["kwargs"]["decoder_input_ids"] = call["kwargs"]["input_ids"][:, :5].contiguous()
    return module, calls


def _pixels(kind: str) -> Callable:
    def make():
        import transformers
        made_of = getattr(transformers, kind)
        sizes = {k: v for k, v in SIZES.items() if k != "vocab_size"}
        module = made_of(made_of.config_class(image_size=32, patch_size=8, **sizes))
        return module, [{"kwargs": {"pixel_values": torch.randn(batch, 3, 32, 32)}}
                        for batch in (2, 3)]
    return make


MODELS: dict[str, Callable] = {
    "resnet18": _image("resnet18"),
    "mobilenet_v2": _image("mobilenet_v2"),
    "mobilenet_v3_small": _image("mobilenet_v3_small"),
    "efficientnet_b0": _image("efficientnet_b0"),
    "shufflenet_v2_x0_5": _image("shufflenet_v2_x0_5"),
    "squeezenet1_1": _image("squeezenet1_1"),
    "regnet_y_400mf": _image("regnet_y_400mf"),
    "mnasnet0_5": _image("mnasnet0_5"),
    "convnext_tiny": _image("convnext_tiny"),
    "swin_t": _image("swin_t"),
    "lraspp_mobilenet_v3_large": _segmentation,
    "bert": _text("BertModel", SIZES),
    "distilbert": _text("DistilBertModel", DISTIL),
    "roberta": _text("RobertaForSequenceClassification", SIZES),
    "albert": _text("AlbertModel", SIZES | {"embedding_size": 32}),
    "gpt2": _text("GPT2LMHeadModel", GPT2, use_cache=False),
    "gpt2_with_cache": _text("GPT2LMHeadModel", GPT2),
    "opt": _text("OPTForCausalLM", OPT, use_cache=False),
    "llama": _text("LlamaForCausalLM", SIZES | KEY_VALUES, use_cache=False),
    "qwen2": _text("Qwen2ForCausalLM", SIZES | KEY_VALUES, use_cache=False),
    "t5": _encoder_decoder,
    "vit": _pixels("ViTForImageClassification"),
}
