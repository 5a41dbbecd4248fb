# SPDX-License-Identifier: Apache-2.0
"""A Llama of two layers as onnxruntime-genai's model builder and Mobius write it: with caches that
grow and caches of a fixed length, in float32, float16 and with weights of 4 and 8 bits."""
import dataclasses
import tempfile
from pathlib import Path

import numpy as np
import onnx
import onnx_ir
import transformers as t
from mobius._builder import build_from_module
from mobius._config_resolver import _config_from_hf
from mobius._registry import registry
from mobius.tasks import CausalLMTask
from onnxruntime_genai.models.builder import create_model, parse_extra_options
from tokenizers import Tokenizer, models

from making.model import Input, Model, floats, ids, ones

WORDS, HEADS, SIZE, ROOM = 257, 2, 16, 96
CONFIG = dict(vocab_size=WORDS, hidden_size=64, intermediate_size=128, num_hidden_layers=2,
              num_attention_heads=4, num_key_value_heads=HEADS, max_position_embeddings=128,
              bos_token_id=1, eos_token_id=2, initializer_range=0.1)
# A step of each of two sequences, and a prompt.
SIZES = ({"batch": 2, "past": 6, "seq": 1}, {"batch": 1, "past": 0, "seq": 4})
STEPS = ({"batch": 2}, {"batch": 1})
DTYPES = {"float32": onnx_ir.DataType.FLOAT, "float16": onnx_ir.DataType.FLOAT16}


def save(folder: Path, tied: bool) -> None:
    t.LlamaForCausalLM(t.LlamaConfig(**CONFIG, tie_word_embeddings=tied)).save_pretrained(folder)
    words = Tokenizer(models.WordLevel({f"w{i}": i for i in range(WORDS)}, unk_token="w0"))
    t.PreTrainedTokenizerFast(tokenizer_object=words, unk_token="w0", bos_token="w1",
                              eos_token="w2").save_pretrained(folder)


def genai(precision: str, provider: str = "cpu", *options: str):
    def build(variant):
        with tempfile.TemporaryDirectory() as folder:
            source, made = f"{folder}/source", f"{folder}/made"
            save(Path(source), "shared_embeddings=true" in options)
            what = ("llama", source, made, precision, provider, f"{folder}/cache")
            create_model(*what, **parse_extra_options(*what, list(options)))
            return onnx.load(f"{made}/model.onnx")
    return build


def weight(name: str, shape: list[int], dtype: np.dtype) -> np.ndarray:
    rng = np.random.default_rng(len(name))
    if dtype == np.uint8:
        return rng.integers(0, 256, shape).astype(dtype)
    if "scale" in name:
        return (0.02 + 0.01 * rng.random(shape)).astype(dtype)
    if "norm" in name:
        return np.ones(shape, dtype)
    return (0.1 * rng.standard_normal(shape)).astype(dtype)


def mobius(dtype: str = "float32", static: bool = False, provider: str = "default", **quantised):
    def build(variant):
        described = t.LlamaConfig(**CONFIG, tie_word_embeddings=False)
        if quantised:
            described.quantization_config = {"bits": 4, "group_size": 32} | quantised
        config = dataclasses.replace(_config_from_hf(described, parent_config=described),
                                     dtype=DTYPES[dtype])
        task = CausalLMTask(static_cache=True, max_seq_len=ROOM) if static else CausalLMTask()
        package = build_from_module(registry.get("llama")(config), config, task=task,
                                    execution_provider=provider)
        model, = package.values()
        for name, value in model.graph.initializers.items():
            if value.const_value is None:
                value.const_value = onnx_ir.tensor(
                    weight(name, [int(d) for d in value.shape], value.dtype.numpy()))
        return onnx_ir.to_proto(model)
    return build


def fixed(value: int, *shape) -> Input:
    return Input(shape, "integers", "int64", value, value)


GROWING = {"input_ids": ids("batch", "seq", below=WORDS),
           "attention_mask": ones("batch", "past+seq"), "position_ids": fixed(6, "batch", "seq")}
GROWING |= {f"past_key_values.{i}.{what}": floats("batch", HEADS, "past", SIZE)
            for i in range(2) for what in ("key", "value")}
STATIC = {"input_ids": ids("batch", 1, below=WORDS), "position_ids": fixed(6, "batch", 1),
          "write_indices": fixed(6, "batch"), "nonpad_kv_seqlen": fixed(7, "batch")}
STATIC |= {f"{what}_cache.{i}": floats("batch", ROOM, HEADS * SIZE)
           for i in range(2) for what in ("key", "value")}
GENAI, MOBIUS = ("direct22.open",), ("direct24.open",)
PACKED = dict(quant_method="gptq", sym=False)
MODELS = [
    Model("genai_llama", genai("fp32"), GROWING, GENAI, SIZES),
    Model("genai_llama_cuda", genai("fp16", "cuda"), GROWING, ("direct22.open.half",), SIZES),
    Model("genai_llama_int4", genai("int4"), GROWING, GENAI, SIZES),
    Model("genai_llama_mixed", genai("int4", "cpu", "algo_config=k_quant_mixed",
                                     "is_symmetric=false"), GROWING, GENAI, SIZES),
    Model("genai_llama_tied", genai("int4", "cpu", "shared_embeddings=true"), GROWING, GENAI,
          SIZES),
    Model("genai_llama_qdq", genai("int4", "cpu", "use_qdq=true"), GROWING, GENAI, SIZES),
    Model("mobius_llama", mobius(), GROWING, MOBIUS, SIZES),
    Model("mobius_llama_half", mobius("float16"), GROWING, ("direct24.open.half",), SIZES),
    Model("mobius_llama_cpu", mobius(provider="cpu"), GROWING, MOBIUS, SIZES),
    Model("mobius_llama_int4", mobius(**PACKED), GROWING, MOBIUS, SIZES),
    Model("mobius_llama_static", mobius(static=True), STATIC, MOBIUS, STEPS),
    Model("mobius_llama_static_half", mobius("float16", True), STATIC, ("direct24.open.half",),
          STEPS),
    Model("mobius_llama_static_int4", mobius(static=True, **PACKED, embeds=True, lm_head=True),
          STATIC, MOBIUS, STEPS),
]
