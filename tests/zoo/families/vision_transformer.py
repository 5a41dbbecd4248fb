# SPDX-License-Identifier: Apache-2.0
"""Transformers over images."""
import timm
import torchvision
import transformers as t

from making.model import Model, floats, ids, mask
from making.transformer import Plain

IMAGE = {"image": floats("batch", 3, 32, 32)}
LARGER = {"image": floats("batch", 3, 64, 64)}
SIZES = ({"batch": 2, "seq": 7}, {"batch": 1, "seq": 3})
SMALL = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64,
             image_size=32, patch_size=8, attn_implementation="eager")


def vision(kind, results, suffix="Model", **config):
    def build():
        configuration = getattr(t, kind + "Config")(**(SMALL | config))
        return Plain(getattr(t, kind + suffix)(configuration), ["pixel_values"], results)
    return build


def vit():
    return torchvision.models.VisionTransformer(32, 8, 2, 4, 32, 64, num_classes=10)


def swin():
    return torchvision.models.SwinTransformer([4, 4], 16, [2, 2], [2, 4], [4, 4], num_classes=10)


def timm_model(name):
    return lambda: timm.create_model(name, num_classes=10)


def clip():
    text = dict(vocab_size=97, hidden_size=32, intermediate_size=64, num_hidden_layers=2,
                num_attention_heads=4, max_position_embeddings=16, eos_token_id=96)
    image = {k: v for k, v in SMALL.items() if k != "attn_implementation"}
    config = t.CLIPConfig(text_config=text, vision_config=image, projection_dim=16,
                          attn_implementation="eager")
    return Plain(t.CLIPModel(config), ["input_ids", "attention_mask", "pixel_values"],
                 ["logits_per_image", "text_embeds"])


LAST = ["last_hidden_state"]
MODELS = [
    Model("vit", vit, IMAGE, ("legacy17.open", "dynamo20.open", "dynamo23", "legacy17.half",
                              "legacy17.open.dynamic", "legacy17.qdq", "legacy17.extended"), SIZES),
    Model("vit_hf", vision("ViT", ["logits"], "ForImageClassification"), IMAGE,
          ("legacy17.open", "dynamo20.bfloat", "legacy17.open.fused_vit"), SIZES),
    Model("deit", vision("DeiT", LAST), IMAGE, ("legacy17.open", "dynamo20"), SIZES),
    Model("beit", vision("Beit", LAST, use_relative_position_bias=True), IMAGE,
          ("legacy17", "dynamo20"), SIZES),
    Model("dinov2", vision("Dinov2", LAST), IMAGE, ("legacy17.open", "dynamo23.open"), SIZES),
    Model("swin", swin, LARGER, ("legacy17", "dynamo20.open"), SIZES),
    Model("timm_vit", timm_model("test_vit"), {"image": floats("batch", 3, 160, 160)},
          ("legacy17.open", "dynamo20.open.half"), SIZES),
    Model("timm_vit_relative", timm_model("test_vit_relpos"), {"image": floats("batch", 3, 160,
                                                                               160)},
          ("legacy17.open", "dynamo23"), SIZES),
    Model("maxvit", timm_model("test_maxvit"), {"image": floats("batch", 3, 160, 160)},
          ("legacy17",), SIZES),
    Model("clip", clip, {"ids": ids("texts", "seq"), "mask": mask("texts", "seq")} | IMAGE,
          ("legacy17.open", "dynamo20"), ({"batch": 2, "texts": 3, "seq": 7},
                                          {"batch": 1, "texts": 1, "seq": 2})),
    Model("siglip", vision("SiglipVision", LAST), IMAGE, ("dynamo20.open",),
          SIZES),
]
