# SPDX-License-Identifier: Apache-2.0
"""Decoders without a cache."""
import transformers as t

from making.model import Model, ids, mask
from making.transformer import Plain

SIZES = ({"batch": 2, "seq": 9}, {"batch": 1, "seq": 1})
TEXT = {"input_ids": ids("batch", "seq"), "attention_mask": mask("batch", "seq")}
BARE = {"input_ids": ids("batch", "seq")}
COMMON = dict(vocab_size=97, max_position_embeddings=64, attn_implementation="eager",
              bos_token_id=0, eos_token_id=1, pad_token_id=2)
WIDE = COMMON | dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
                     intermediate_size=48)
GROUPED = WIDE | dict(num_key_value_heads=2)
GPT2 = COMMON | dict(n_embd=32, n_layer=2, n_head=4, n_positions=64)
CONFIGS = {
    "GPT2": GPT2,
    "Llama": GROUPED,
    "Qwen2": GROUPED | dict(use_sliding_window=False),
    "Qwen3": GROUPED | dict(head_dim=8),
    "Mistral": GROUPED | dict(sliding_window=4, head_dim=8),
    "Gemma": GROUPED | dict(head_dim=16, num_key_value_heads=1),
    "Gemma2": GROUPED | dict(head_dim=16, sliding_window=4),
    "Phi": WIDE | dict(partial_rotary_factor=0.5),
    "GPTNeoX": WIDE | dict(rotary_pct=0.25),
    "OPT": WIDE | dict(ffn_dim=48, word_embed_proj_dim=32),
    "Bloom": dict(vocab_size=97, hidden_size=32, n_layer=2, n_head=4),
    "StableLm": GROUPED,
    "Olmo2": GROUPED,
    "Mixtral": GROUPED | dict(num_local_experts=4, num_experts_per_tok=2, sliding_window=None),
}


def causal(kind: str, **more):
    config = getattr(t, kind + "Config")(**(CONFIGS[kind] | more), use_cache=False)
    return getattr(t, kind + ("LMHeadModel" if kind == "GPT2" else "ForCausalLM"))(config)


def decoder(kind, inputs=TEXT, **more):
    return lambda: Plain(causal(kind, **more), list(inputs), ["logits"], use_cache=False)


MODELS = [
    Model("gpt2", decoder("GPT2"), TEXT,
          ("legacy17.open", "dynamo20.open", "dynamo23", "legacy17.open.dynamic",
           "legacy17.fused_gpt2", "legacy17.half"), SIZES),
    Model("gpt2_unmasked", decoder("GPT2", BARE), BARE, ("dynamo20.open.extended", "dynamo20"),
          SIZES),
    Model("llama", decoder("Llama"), TEXT,
          ("legacy17.open", "dynamo20.open", "dynamo23.open", "legacy17.open.fp16",
           "dynamo20.bfloat", "legacy17.qdq"), SIZES),
    Model("qwen2", decoder("Qwen2"), TEXT, ("legacy17.open", "dynamo20.open.half"), SIZES),
    Model("qwen3", decoder("Qwen3"), TEXT, ("legacy17.open", "legacy17"), SIZES),
    Model("mistral", decoder("Mistral"), TEXT, ("legacy17.open", "dynamo20"), SIZES),
    Model("gemma", decoder("Gemma"), TEXT, ("legacy17.open", "dynamo20.open.bfloat"), SIZES),
    Model("gemma2", decoder("Gemma2"), TEXT, ("legacy17.open", "dynamo20"), SIZES),
    Model("phi", decoder("Phi"), TEXT, ("legacy17.open.dynamic", "dynamo20.open"), SIZES),
    Model("gpt_neox", decoder("GPTNeoX"), TEXT, ("legacy20.open",), SIZES),
    Model("opt", decoder("OPT"), TEXT, ("legacy17.open", "dynamo20"), SIZES),
    Model("bloom", decoder("Bloom"), TEXT, ("legacy17.open", "dynamo20"), SIZES),
    Model("olmo2", decoder("Olmo2"), TEXT, ("legacy17.open.basic",), SIZES),
]
