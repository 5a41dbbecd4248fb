# SPDX-License-Identifier: Apache-2.0
"""Convolutional classifiers: plain, depthwise, grouped, dilated, transposed."""
import timm
import torch
import torchvision
from torch import nn

from making.model import Model, floats

IMAGE = {"image": floats("batch", 3, "height", "width")}
SIZES = ({"batch": 2, "height": 64, "width": 64}, {"batch": 1, "height": 45, "width": 83})
FIXED = {"image": floats("batch", 3, 64, 64)}
FIXED_SIZES = ({"batch": 2}, {"batch": 5})


def block(i, o, **more):
    return nn.Sequential(nn.Conv2d(i, o, 3, bias=False, **more), nn.BatchNorm2d(o), nn.ReLU())


def plain():
    return nn.Sequential(block(3, 16, padding=1), nn.MaxPool2d(2), block(16, 32, padding=1),
                         nn.MaxPool2d(2), block(32, 32, stride=2), nn.AdaptiveAvgPool2d(1),
                         nn.Flatten(), nn.Dropout(), nn.Linear(32, 10))


def dilated():
    return nn.Sequential(*(block(i, 24, padding=d, dilation=d)
                           for i, d in ((3, 1), (24, 2), (24, 4), (24, 8))),
                         nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(24, 7), nn.Softmax(-1))


class Transposed(nn.Module):
    """A generator of images, as DCGAN's."""

    def __init__(self):
        super().__init__()
        layers = []
        for i, o, k, s, p in ((20, 32, 4, 1, 0), (32, 24, 4, 2, 1), (24, 16, 3, 2, 1)):
            layers += [nn.ConvTranspose2d(i, o, k, s, p, bias=False), nn.BatchNorm2d(o),
                       nn.LeakyReLU(0.2)]
        self.layers = nn.Sequential(*layers, nn.ConvTranspose2d(16, 3, 5, 2, 2, 1), nn.Tanh())

    def forward(self, z):
        return self.layers(z[:, :, None, None])


class GroupedTransposed(nn.Module):
    """Grouped and dilated transposed convolutions, and asymmetric padding."""

    def __init__(self):
        super().__init__()
        self.up = nn.ConvTranspose2d(16, 16, 3, 2, 1, 1, groups=4)
        self.wide = nn.ConvTranspose2d(16, 8, (3, 5), 1, 2, dilation=2)
        self.first = nn.Conv2d(3, 16, (3, 2), padding="same")

    def forward(self, x):
        x = nn.functional.silu(self.first(x))
        return self.wide(nn.functional.hardswish(self.up(nn.functional.pad(x, (1, 0, 0, 2)))))


class Volume(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Conv3d(2, 8, 3, padding=1), nn.BatchNorm3d(8), nn.ReLU(),
                                    nn.MaxPool3d(2), nn.Conv3d(8, 16, 3, stride=2, groups=2),
                                    nn.ELU(), nn.AvgPool3d(2, ceil_mode=True),
                                    nn.ConvTranspose3d(16, 4, 2, 2))

    def forward(self, x):
        return self.layers(x)


class Signal1d(nn.Module):
    """One-dimensional convolutions with causal padding and gates, as WaveNet's."""

    def __init__(self):
        super().__init__()
        self.first = nn.Conv1d(1, 16, 1)
        self.gates = nn.ModuleList(nn.Conv1d(16, 32, 2, dilation=d) for d in (1, 2, 4, 8))
        self.mix = nn.ModuleList(nn.Conv1d(16, 16, 1) for _ in range(4))
        self.last = nn.Conv1d(16, 5, 1)

    def forward(self, x):
        x, total = self.first(x), 0
        for gate, mix in zip(self.gates, self.mix):
            g = gate(nn.functional.pad(x, (gate.dilation[0], 0)))
            z = torch.tanh(g[:, :16]) * torch.sigmoid(g[:, 16:])
            x, total = x + mix(z), total + z
        return self.last(torch.relu(total))


def vision(name, **more):
    return lambda: getattr(torchvision.models, name)(weights=None, num_classes=10, **more)


def timm_model(name, **more):
    return lambda: timm.create_model(name, num_classes=10, **more)


def narrow_resnet():
    net = torchvision.models.ResNet(torchvision.models.resnet.BasicBlock, [1, 1, 1, 1], 10)
    return net


def mobile(width=0.25):
    return torchvision.models.MobileNetV2(num_classes=10, width_mult=width)


MODELS = [
    Model("plain", plain, IMAGE,
          ("legacy17", "dynamo20.open", "legacy20.open", "dynamo23.open.half", "legacy17.qdq",
           "legacy17.qoperator", "legacy17.dynamic", "legacy17.extended", "legacy17.bfloat"),
          SIZES),
    Model("dilated", dilated, IMAGE, ("legacy17.open", "dynamo20", "legacy17.qdq_channels"), SIZES),
    Model("transposed", Transposed, {"z": floats("batch", 20)},
          ("legacy17.open", "dynamo20", "dynamo23.open.bfloat"), ({"batch": 3}, {"batch": 1})),
    Model("grouped_transposed", GroupedTransposed, {"image": floats("batch", 3, "h", "w")},
          ("legacy17", "dynamo20.open"), ({"batch": 2, "h": 16, "w": 15},
                                          {"batch": 1, "h": 7, "w": 20})),
    Model("volume", Volume, {"x": floats("batch", 2, "d", "h", "w")},
          ("legacy17.open", "dynamo20", "legacy17.fp16"),
          ({"batch": 2, "d": 12, "h": 14, "w": 16}, {"batch": 1, "d": 17, "h": 14, "w": 19})),
    Model("wavenet", Signal1d, {"x": floats("batch", 1, "time")},
          ("legacy17.open", "dynamo23.open", "legacy17.basic"),
          ({"batch": 2, "time": 64}, {"batch": 1, "time": 1})),
    Model("resnet", narrow_resnet, IMAGE, ("dynamo20.open", "legacy17.qoperator_unsigned",
                                           "legacy17.fp16"), SIZES),
    Model("mobilenet_v2", mobile, IMAGE, ("legacy17.open", "dynamo23", "legacy17.qdq",
                                          "legacy17.extended"), SIZES),
    Model("mobilenet_v3", vision("mobilenet_v3_small", width_mult=0.5), IMAGE,
          ("legacy20.open", "dynamo20.half"), SIZES),
    Model("shufflenet", vision("shufflenet_v2_x0_5"), FIXED, ("legacy17.open", "dynamo20.open"),
          FIXED_SIZES),
    Model("squeezenet", vision("squeezenet1_1"), IMAGE, ("legacy17.open", "dynamo20"), SIZES),
    Model("densenet", lambda: torchvision.models.DenseNet(8, (2, 2, 2), 16, num_classes=10), IMAGE,
          ("legacy17.open", "dynamo23.open"), SIZES),
    Model("resnext", timm_model("test_resnet", cardinality=1), IMAGE, ("legacy17", "dynamo20.open"),
          SIZES),
    Model("byobnet", timm_model("test_byobnet"), IMAGE, ("dynamo20", "legacy17.open"), SIZES),
    Model("efficientnet", timm_model("test_efficientnet"), IMAGE,
          ("legacy17.open", "dynamo20", "legacy17.dynamic"), SIZES),
    Model("efficientnet_groupnorm", timm_model("test_efficientnet_gn"), IMAGE,
          ("dynamo23.open", "legacy17.bfloat"), SIZES),
    Model("convnext", timm_model("test_convnext"), IMAGE, ("legacy17.open", "dynamo20.open"),
          SIZES),
    Model("nfnet", timm_model("test_nfnet"), FIXED, ("legacy17.open",), FIXED_SIZES),
]
