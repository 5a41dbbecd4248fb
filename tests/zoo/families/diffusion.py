# SPDX-License-Identifier: Apache-2.0
"""U-Nets and other blocks of diffusion models."""
import diffusers as d
import torch
from torch import nn

from making.model import Model, floats, Input

SAMPLE = {"sample": floats("batch", 4, 16, 16), "step": Input(("batch",), "integers", "int64", 0,
                                                              999)}
SIZES = ({"batch": 2, "seq": 7}, {"batch": 1, "seq": 3})
UNET = dict(sample_size=16, in_channels=4, out_channels=4, block_out_channels=(16, 32),
            layers_per_block=1, norm_num_groups=8)


class First(nn.Module):
    def __init__(self, model, *names, **fixed):
        super().__init__()
        self.model, self.names, self.fixed = model, names, fixed

    def forward(self, *args):
        return self.model(**dict(zip(self.names, args)), **self.fixed, return_dict=False)[0]


def unet():
    model = d.UNet2DModel(**UNET, down_block_types=("DownBlock2D", "AttnDownBlock2D"),
                          up_block_types=("AttnUpBlock2D", "UpBlock2D"), attention_head_dim=8)
    return First(model, "sample", "timestep")


def conditional(**more):
    model = d.UNet2DConditionModel(**UNET, cross_attention_dim=24, attention_head_dim=4,
                                   down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"),
                                   up_block_types=("UpBlock2D", "CrossAttnUpBlock2D"), **more)
    return First(model, "sample", "timestep", "encoder_hidden_states")


def autoencoder():
    return d.AutoencoderKL(in_channels=3, out_channels=3, block_out_channels=(16, 32),
                           down_block_types=("DownEncoderBlock2D",) * 2, norm_num_groups=8,
                           up_block_types=("UpDecoderBlock2D",) * 2, latent_channels=4)


class Encode(nn.Module):
    def __init__(self):
        super().__init__()
        self.model = autoencoder()

    def forward(self, image):
        return self.model.encode(image, return_dict=False)[0].parameters


class Decode(nn.Module):
    def __init__(self):
        super().__init__()
        self.model = autoencoder()

    def forward(self, latent):
        return self.model.decode(latent, return_dict=False)[0]


def quantised():
    model = d.VQModel(in_channels=3, out_channels=3, block_out_channels=(16, 32), norm_num_groups=8,
                      down_block_types=("DownEncoderBlock2D",) * 2, num_vq_embeddings=32,
                      up_block_types=("UpDecoderBlock2D",) * 2, latent_channels=3)
    return First(model, "sample")


def dit():
    model = d.DiTTransformer2DModel(num_attention_heads=2, attention_head_dim=16, in_channels=4,
                                    num_layers=2, sample_size=16, patch_size=2, norm_num_groups=8,
                                    num_embeds_ada_norm=100)
    return First(model, "hidden_states", "timestep", "class_labels")


def unet1d():
    return First(d.UNet1DModel(sample_size=32, in_channels=2, out_channels=2, extra_in_channels=0,
                               time_embedding_type="positional", use_timestep_embedding=True,
                               block_out_channels=(16, 32), layers_per_block=1,
                               down_block_types=("DownResnetBlock1D", "DownResnetBlock1D"),
                               up_block_types=("UpResnetBlock1D",),
                               mid_block_type="MidResTemporalBlock1D",
                               out_block_type="OutConv1DBlock", act_fn="swish",
                               norm_num_groups=8), "sample", "timestep")


class TimedBlock(nn.Module):
    """A residual block with a time embedding, group norm, and attention over pixels."""

    def __init__(self):
        super().__init__()
        self.n1, self.n2, self.n3 = (nn.GroupNorm(4, 16) for _ in range(3))
        self.c1, self.c2 = (nn.Conv2d(16, 16, 3, padding=1) for _ in range(2))
        self.time = nn.Linear(24, 32)
        self.qkv, self.out = nn.Conv1d(16, 48, 1), nn.Conv1d(16, 16, 1)

    def forward(self, x, t):
        frequencies = torch.exp(-torch.arange(12) * 0.6)
        angles = t.float()[:, None] * frequencies
        scale, shift = self.time(torch.cat([angles.sin(), angles.cos()], 1))[..., None, None].chunk(
            2, 1)
        h = self.c1(nn.functional.silu(self.n1(x)))
        h = self.c2(nn.functional.silu(self.n2(h) * (1 + scale) + shift)) + x
        b, c, height, width = h.shape
        q, k, v = self.qkv(self.n3(h).reshape(b, c, height * width)).chunk(3, 1)
        weights = torch.softmax(q.transpose(1, 2) @ k / c**0.5, -1)
        return h + self.out(v @ weights.transpose(1, 2)).reshape(b, c, height, width)


class Loop(nn.Module):
    """Three steps of a sampler around a small net."""

    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(4, 16, 3, padding=1), nn.GroupNorm(4, 16), nn.SiLU(),
                                 nn.Upsample(scale_factor=2, mode="nearest"),
                                 nn.Conv2d(16, 16, 3, stride=2, padding=1), nn.GELU("tanh"),
                                 nn.Conv2d(16, 4, 3, padding=1, padding_mode="circular"))

    def forward(self, x):
        for alpha in (0.2, 0.5, 0.8):
            noise = self.net(x)
            x = (x - (1 - alpha) ** 0.5 * noise) / alpha**0.5 * 0.5
        return x.clamp(-3, 3)


TEXT = SAMPLE | {"text": floats("batch", "seq", 24)}
TIME = Input(("batch",), "integers", "int64", 0, 999)
IMAGE_SIZES = ({"batch": 2, "h": 16, "w": 24}, {"batch": 1, "h": 8, "w": 32})
MODELS = [
    Model("unet2d", unet, SAMPLE, ("legacy17", "dynamo20", "legacy17.open", "legacy17.half"),
          SIZES),
    Model("unet_conditional", conditional, TEXT,
          ("legacy17.open", "dynamo20", "dynamo23.open", "legacy17.fp16", "legacy17.extended",
           "legacy17.qdq"), SIZES),
    Model("vae_encoder", Encode, {"image": floats("batch", 3, "h", "w")},
          ("legacy17.open", "dynamo20"), IMAGE_SIZES),
    Model("vae_decoder", Decode, {"latent": floats("batch", 4, "h", "w")},
          ("legacy17.open", "dynamo20.open", "legacy17.bfloat"), IMAGE_SIZES),
    Model("vqvae", quantised, {"image": floats("batch", 3, 16, 16)}, ("dynamo20",), SIZES),
    Model("dit", dit, {"latent": floats(2, 4, 16, 16), "step": Input((2,), "integers", "int64", 0,
                                                                     999),
                       "label": Input((2,), "integers", "int64", 0, 99)},
          ("dynamo20", "legacy17"), SIZES),
    Model("unet1d", unet1d, {"sample": floats(2, 2, 32), "step": Input((2,), "integers", "int64", 0,
                                                                       999)},
          ("legacy17", "dynamo20"), SIZES),
    Model("timed_block", TimedBlock, {"x": floats("batch", 16, "h", "w"), "t": TIME},
          ("legacy17.open", "dynamo20.open", "dynamo23.bfloat"), IMAGE_SIZES),
    Model("sampler", Loop, {"x": floats("batch", 4, "h", "w")},
          ("legacy20.open", "dynamo20.open", "legacy17.dynamic"), IMAGE_SIZES),
]
