# SPDX-License-Identifier: Apache-2.0
"""Segmentation: a class for each pixel."""
import torch
import transformers as t
from torch import nn
from torch.nn import functional as F
from torchvision.models.segmentation.deeplabv3 import ASPP
from torchvision.models.segmentation.lraspp import LRASPPHead

from families.cnn import block
from making.model import Model, floats
from making.transformer import Plain

IMAGE = {"image": floats("batch", 3, "height", "width")}
SIZES = ({"batch": 2, "height": 48, "width": 64}, {"batch": 1, "height": 33, "width": 70})
EVEN = ({"batch": 2, "height": 32, "width": 48}, {"batch": 1, "height": 64, "width": 16})


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.stages = nn.ModuleList([block(3, 8, stride=2, padding=1),
                                     block(8, 16, stride=2, padding=1),
                                     block(16, 24, padding=2, dilation=2)])

    def forward(self, x):
        found = []
        for stage in self.stages:
            x = stage(x)
            found.append(x)
        return found


class Fcn(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder, self.head = Encoder(), nn.Sequential(block(24, 16, padding=1),
                                                           nn.Conv2d(16, 6, 1))

    def forward(self, x):
        out = self.head(self.encoder(x)[-1])
        return F.interpolate(out, size=x.shape[-2:], mode="bilinear", align_corners=False)


class DeepLab(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder, self.aspp = Encoder(), ASPP(24, [2, 4, 6], 16)
        self.last = nn.Conv2d(24, 6, 1)

    def forward(self, x):
        low, _, high = self.encoder(x)
        high = F.interpolate(self.aspp(high), size=low.shape[-2:], mode="bilinear",
                             align_corners=True)
        out = self.last(torch.cat([low, high], 1))
        return F.interpolate(out, size=x.shape[-2:], mode="bilinear", align_corners=False).argmax(1)


class Lraspp(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder, self.head = Encoder(), LRASPPHead(8, 24, 6, 16)

    def forward(self, x):
        low, _, high = self.encoder(x)
        out = self.head({"low": low, "high": high})
        return F.interpolate(out, scale_factor=2.0, mode="bicubic")


class Unet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down = nn.ModuleList([block(3, 8, padding=1), block(8, 16, padding=1)])
        self.middle = block(16, 32, padding=1)
        self.up = nn.ModuleList([nn.ConvTranspose2d(32, 16, 2, 2), nn.ConvTranspose2d(16, 8, 2, 2)])
        self.join = nn.ModuleList([block(32, 16, padding=1), block(16, 8, padding=1)])
        self.last = nn.Conv2d(8, 1, 1)

    def forward(self, x):
        kept = []
        for stage in self.down:
            x = stage(x)
            kept.append(x)
            x = F.max_pool2d(x, 2)
        x = self.middle(x)
        for up, join in zip(self.up, self.join):
            x = join(torch.cat([up(x), kept.pop()], 1))
        return torch.sigmoid(self.last(x))


class Segnet(nn.Module):
    """Unpools by the indices of its max pools."""

    def __init__(self):
        super().__init__()
        self.first, self.second = block(3, 8, padding=1), block(8, 16, padding=1)
        self.third, self.last = block(16, 8, padding=1), nn.Conv2d(8, 5, 3, padding=1)

    def forward(self, x):
        x, i = F.max_pool2d(self.first(x), 2, return_indices=True)
        x, j = F.max_pool2d(self.second(x), 2, return_indices=True)
        x = self.third(F.max_unpool2d(x, j, 2))
        return self.last(F.max_unpool2d(x, i, 2))


class Subpixel(nn.Module):
    """Super-resolution: PixelShuffle, and PixelUnshuffle before it."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.PixelUnshuffle(2), nn.Conv2d(12, 16, 3, padding=1),
                                    nn.PReLU(16), nn.Conv2d(16, 48, 3, padding=1),
                                    nn.PixelShuffle(4))

    def forward(self, x):
        return self.layers(x)


class Pyramid(nn.Module):
    """PSPNet's pooling to fixed grids, and nearest upsampling."""

    def __init__(self):
        super().__init__()
        self.encoder = Encoder()
        self.pools = nn.ModuleList(nn.Sequential(nn.AdaptiveAvgPool2d(s), nn.Conv2d(24, 6, 1))
                                   for s in (1, 2, 4))
        self.last = nn.Conv2d(42, 4, 1)

    def forward(self, x):
        high = self.encoder(x)[-1]
        size = high.shape[-2:]
        parts = [F.interpolate(p(high), size=size, mode="nearest") for p in self.pools]
        return self.last(torch.cat([high, *parts], 1)).softmax(1)


class Warp(nn.Module):
    """A flow, and the image sampled along it."""

    def __init__(self):
        super().__init__()
        self.flow = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.Tanh(),
                                  nn.Conv2d(8, 2, 3, padding=1))

    def forward(self, x):
        theta = torch.tensor([[[1.0, 0.1, 0.0], [-0.1, 1.0, 0.2]]]).expand(x.shape[0], 2, 3)
        grid = F.affine_grid(theta, list(x.shape), align_corners=False)
        grid = grid + 0.1 * self.flow(x).permute(0, 2, 3, 1)
        return F.grid_sample(x, grid, mode="bilinear", padding_mode="border", align_corners=False)


def segformer():
    config = t.SegformerConfig(num_encoder_blocks=2, depths=[1, 1], sr_ratios=[4, 2],
                               hidden_sizes=[16, 32], patch_sizes=[7, 3], strides=[4, 2],
                               num_attention_heads=[1, 2], mlp_ratios=[2, 2], num_labels=5,
                               decoder_hidden_size=16)
    return Plain(t.SegformerForSemanticSegmentation(config), ["pixel_values"], ["logits"])


MODELS = [
    Model("fcn", Fcn, IMAGE, ("legacy17.open", "dynamo20.open", "legacy17.qdq", "legacy17.half"),
          SIZES),
    Model("deeplab", DeepLab, IMAGE, ("legacy17", "dynamo20.open"), SIZES),
    Model("lraspp", Lraspp, IMAGE, ("legacy17.open", "dynamo23"), SIZES),
    Model("unet", Unet, IMAGE, ("legacy17.open", "dynamo20.open", "legacy17.qoperator",
                                "dynamo20.bfloat", "legacy17.open.extended"), EVEN),
    Model("segnet", Segnet, IMAGE, ("dynamo20",), EVEN),
    Model("subpixel", Subpixel, IMAGE, ("legacy17.open", "dynamo20.open", "legacy17.fp16"), EVEN),
    Model("pyramid", Pyramid, {"image": floats("batch", 3, 48, 64)}, ("legacy17.open", "dynamo20"),
          SIZES),
    Model("warp", Warp, {"image": floats("batch", 3, 20, 24)}, ("legacy20", "dynamo20.open"),
          ({"batch": 2}, {"batch": 1})),
    Model("segformer", segformer, {"image": floats("batch", 3, "height", "width")},
          ("legacy17", "dynamo20.open", "legacy17.open"), SIZES),
]
