# SPDX-License-Identifier: Apache-2.0
"""Encoders with decoders."""
import torch
import transformers as t
from torch import nn

from making.model import Model, floats, ids, mask
from making.transformer import CachedDecoder, Plain

SIZES = ({"batch": 2, "seq": 9, "steps": 5, "past": 4}, {"batch": 1, "seq": 3, "steps": 1,
                                                         "past": 0})
BOTH = {"input_ids": ids("batch", "seq"), "attention_mask": mask("batch", "seq"),
        "decoder_input_ids": ids("batch", "steps")}
BART = dict(vocab_size=97, d_model=32, encoder_layers=2, decoder_layers=2, encoder_ffn_dim=48,
            decoder_ffn_dim=48, encoder_attention_heads=4, decoder_attention_heads=4,
            max_position_embeddings=64, pad_token_id=1, attn_implementation="eager",
            decoder_start_token_id=0, eos_token_id=2, forced_eos_token_id=None)
T5 = dict(vocab_size=97, d_model=32, d_kv=8, d_ff=48, num_layers=2, num_heads=4,
          relative_attention_num_buckets=8, relative_attention_max_distance=16,
          decoder_start_token_id=0)


def build(kind, config, **more):
    return getattr(t, kind)(getattr(t, config)(**more))


def bart(kind="BartForConditionalGeneration", config="BartConfig", **more):
    return lambda: Plain(build(kind, config, **(BART | more)), list(BOTH), ["logits"],
                         use_cache=False)


def t5(**more):
    return lambda: Plain(build("T5ForConditionalGeneration", "T5Config", **(T5 | more)), list(BOTH),
                         ["logits"], use_cache=False)


def cached(kind, config, **settings):
    return lambda: CachedDecoder(build(kind, config, **settings))


class Torch(nn.Module):
    """PyTorch's own layers, with an embedding and a causal mask."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(97, 32)
        self.layers = nn.Transformer(32, 4, 2, 2, 48, batch_first=True, activation="gelu")
        self.out = nn.Linear(32, 97)

    def forward(self, source, target):
        steps = target.shape[1]
        future = torch.full((steps, steps), float("-inf")).triu(1)
        return self.out(self.layers(self.embed(source), self.embed(target), tgt_mask=future))


CACHE = {f"past_{i}.{what}": floats("batch", 4, "past", 8)
         for i in range(2) for what in ("key", "value")}
STEP = {"decoder_input_ids": ids("batch", "steps"),
        "states": floats("batch", "seq", 32)} | CACHE
STATES = {"input_ids": ids("batch", "seq"), "decoder_input_ids": ids("batch", "steps")}

MODELS = [
    Model("t5", t5(), BOTH, ("legacy17.open", "dynamo20", "legacy17.open.dynamic",
                             "legacy17.extended", "dynamo20.open"), SIZES),
    Model("t5_gated", t5(feed_forward_proj="gated-gelu", tie_word_embeddings=False), BOTH,
          ("legacy17.open", "legacy17.open.fp16"), SIZES),
    Model("bart", bart(), BOTH, ("legacy17.open", "legacy17.half", "dynamo23.open"),
          SIZES),
    Model("marian", bart("MarianMTModel", "MarianConfig"), BOTH, ("legacy17.open", "legacy20"),
          SIZES),
    Model("pegasus", bart("PegasusForConditionalGeneration", "PegasusConfig"), BOTH,
          ("legacy17.open", "legacy17.extended"), SIZES),
    Model("mbart", bart("MBartForConditionalGeneration", "MBartConfig"), BOTH,
          ("legacy17.open.basic",), SIZES),
    Model("m2m100", bart("M2M100ForConditionalGeneration", "M2M100Config"), BOTH, ("legacy17",),
          SIZES),
    Model("t5_decoder_cache", cached("T5ForConditionalGeneration", "T5Config", **T5), STEP,
          ("legacy17.open", "dynamo20.open"), SIZES),
    Model("bart_decoder_cache", cached("BartForConditionalGeneration", "BartConfig", **BART), STEP,
          ("legacy17.open", "dynamo20.open"), SIZES),
    Model("torch_transformer", Torch, {"source": ids("batch", "seq"), "target": ids("batch",
                                                                                    "steps")},
          ("legacy17", "dynamo20", "legacy17.dynamic"), SIZES),
]
