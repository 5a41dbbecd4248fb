# SPDX-License-Identifier: Apache-2.0
"""Decoders with a cache: past keys and values in, present ones out."""
from families.decoder import causal
from making.model import Model, floats, ids, mask
from making.transformer import Cached

# A step, and a prompt with nothing in the cache. Set 0 is what the exporters see.
SIZES = ({"batch": 2, "past": 5, "seq": 3}, {"batch": 1, "past": 0, "seq": 4})
STEP = ({"batch": 2, "past": 6, "seq": 1}, {"batch": 1, "past": 1, "seq": 1})


def inputs(heads: int, head_size: int, layers: int = 2, seq="seq", masked=True):
    cache = floats("batch", heads, "past", head_size)
    total = f"past+{seq}"
    mask_of = {"attention_mask": mask("batch", total)} if masked else {}
    return ({"input_ids": ids("batch", seq)} | mask_of |
            {f"past_{i}.{what}": cache for i in range(layers) for what in ("key", "value")})


def cached(kind, with_mask=True, **more):
    def build():
        model = causal(kind, **more)
        model.config.use_cache = True
        return Cached(model, with_mask)
    return build


MODELS = [
    Model("gpt2_cache", cached("GPT2"), inputs(4, 8),
          ("legacy17.open", "dynamo20.open", "legacy17.open.dynamic", "legacy17.open.fused_gpt2"),
          SIZES),
    Model("gpt2_step", cached("GPT2", False), inputs(4, 8, seq=1, masked=False),
          ("legacy17.open", "dynamo20.open.half"), STEP),
    Model("llama_cache", cached("Llama"), inputs(2, 8),
          ("legacy17.open", "dynamo20.open", "dynamo23.open", "legacy17.open.dynamic",
           "legacy17"), SIZES),
    Model("llama_step", cached("Llama"), inputs(2, 8, seq=1),
          ("legacy17.open", "legacy20.open.half"), STEP),
    Model("qwen2_cache", cached("Qwen2"), inputs(2, 8), ("legacy17.open", "dynamo20.open.half"),
          SIZES),
    Model("qwen3_cache", cached("Qwen3"), inputs(2, 8), ("legacy17.open",), SIZES),
    Model("mistral_cache", cached("Mistral", sliding_window=None), inputs(2, 8),
          ("legacy17.open", "dynamo20.open"), SIZES),
    Model("gemma_cache", cached("Gemma"), inputs(1, 16), ("legacy17.open", "dynamo20.open.bfloat"),
          SIZES),
    Model("gpt_neox_cache", cached("GPTNeoX"), inputs(4, 8), ("legacy17.open.extended",), SIZES),
    Model("opt_cache", cached("OPT"), inputs(4, 8), ("legacy17.open",), SIZES),
]
