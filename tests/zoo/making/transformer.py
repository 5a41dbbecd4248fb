# SPDX-License-Identifier: Apache-2.0
"""Models of transformers as modules of plain tensors, caches included."""
import torch
from torch import nn
from transformers import DynamicCache, EncoderDecoderCache
from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS
from transformers.modeling_attn_mask_utils import AttentionMaskConverter  # noqa: F401


def traced_mask(batch_size, cache_position, kv_length, kv_offset=0, mask_function=None,
                attention_mask=None, dtype=torch.float32, **_):
    """Like `eager_mask`, without vmap, which torch.jit.trace does not know."""
    from transformers.masking_utils import and_masks, causal_mask_function, padding_mask_function
    function = mask_function or causal_mask_function
    keys = torch.arange(kv_length, device=cache_position.device) + kv_offset
    if attention_mask is not None:
        function = and_masks(function, padding_mask_function(attention_mask.bool()))
    rows = torch.arange(batch_size)
    allowed = function(rows[:, None, None, None], torch.zeros(1, 1, 1, 1, dtype=torch.long),
                       cache_position[None, None, :, None], keys[None, None, None, :])
    allowed = allowed.expand(batch_size, 1, cache_position.shape[0], kv_length)
    lowest = torch.tensor(torch.finfo(dtype).min, dtype=dtype)
    return torch.where(allowed, torch.tensor(0.0, dtype=dtype), lowest)


ALL_MASK_ATTENTION_FUNCTIONS.register("eager", traced_mask)


class Plain(nn.Module):
    """Named inputs in order; the named results, or all that the model gives."""

    def __init__(self, model: nn.Module, inputs: list[str], results: list[str], **fixed):
        super().__init__()
        self.model, self.inputs, self.results, self.fixed = model, inputs, results, fixed

    def forward(self, *args):
        out = self.model(**dict(zip(self.inputs, args)), **self.fixed)
        found = tuple(out[r] for r in self.results)
        return found[0] if len(found) == 1 else found


class Cached(nn.Module):
    """ids, mask, past keys and values of each layer; logits and the present ones."""

    def __init__(self, model: nn.Module, with_mask: bool = True):
        super().__init__()
        self.model, self.with_mask = model, with_mask

    def forward(self, *args):
        more = {"attention_mask": args[1]} if self.with_mask else {}
        flat = args[2 if self.with_mask else 1:]
        past = DynamicCache.from_legacy_cache(tuple(zip(flat[::2], flat[1::2])))
        out = self.model(input_ids=args[0], past_key_values=past, use_cache=True, **more)
        present = out.past_key_values.to_legacy_cache()
        return (out.logits, *(t for layer in present for t in layer))


class CachedDecoder(nn.Module):
    """The decoder of an encoder-decoder with the cache of its own attention."""

    def __init__(self, model: nn.Module):
        super().__init__()
        self.model = model

    def forward(self, ids, states, *flat):
        past = DynamicCache.from_legacy_cache(tuple(zip(flat[::2], flat[1::2])))
        cache = EncoderDecoderCache(past, DynamicCache())
        out = self.model(decoder_input_ids=ids, encoder_outputs=(states,), past_key_values=cache,
                         use_cache=True)
        own = out.past_key_values.self_attention_cache.to_legacy_cache()
        return (out.logits, *(t for layer in own for t in layer))
