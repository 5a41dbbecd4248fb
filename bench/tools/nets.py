# SPDX-License-Identifier: Apache-2.0
"""Architectures that torchvision does not have: a generator and a net of searched cells."""
import torch
from torch import nn


class Generator(nn.Sequential):
    """Images of 64 x 64 of 100 numbers: transposed convolutions of 4 x 4, as DCGAN has them
    (Radford et al., 2016)."""

    def __init__(self):
        widths = (100, 1024, 512, 256, 128)
        layers = []
        for place, (before, after) in enumerate(zip(widths, widths[1:])):
            stride, padding = (1, 0) if place == 0 else (2, 1)
            layers += [nn.ConvTranspose2d(before, after, 4, stride, padding, bias=False),
                       nn.BatchNorm2d(after), nn.ReLU()]
        super().__init__(*layers, nn.ConvTranspose2d(widths[-1], 3, 4, 2, 1, bias=False), nn.Tanh())


def separable(before: int, after: int, kernel: int, stride: int = 1) -> nn.Sequential:
    """Depthwise and pointwise, twice, as NASNet has them."""
    def once(before, after, stride):
        return [nn.ReLU(),
                nn.Conv2d(before, before, kernel, stride, kernel // 2, groups=before, bias=False),
                nn.Conv2d(before, after, 1, bias=False), nn.BatchNorm2d(after)]
    return nn.Sequential(*once(before, after, stride), *once(after, after, 1))


def pointwise(before: int, after: int, stride: int = 1) -> nn.Sequential:
    return nn.Sequential(nn.ReLU(), nn.Conv2d(before, after, 1, stride, bias=False),
                         nn.BatchNorm2d(after))


class Cell(nn.Module):
    """Five pairs of branches over the results of the two cells before, concatenated: the normal and
    the reduction cell of NASNet-A (Zoph et al., 2018)."""

    def __init__(self, older: int, old: int, width: int, reduces: bool, shrink_older: bool):
        super().__init__()
        stride = 2 if reduces else 1
        self.older = pointwise(older, width, 2 if shrink_older else 1)
        self.old = pointwise(old, width)
        self.branches = nn.ModuleList([
            separable(width, width, 5, stride), separable(width, width, 3, stride),
            separable(width, width, 5, stride), separable(width, width, 3, stride),
            separable(width, width, 3, stride)])
        self.pool = nn.AvgPool2d(3, stride, 1)
        self.skip = pointwise(width, width, stride) if reduces else nn.Identity()
        self.channels = 5 * width

    def forward(self, older, old):
        a, b = self.older(older), self.old(old)
        first, second, third, fourth, fifth = self.branches
        return torch.cat([first(b) + second(a), third(a) + fourth(a), self.pool(b) + self.skip(a),
                          self.pool(a) + self.pool(a), fifth(b) + self.skip(b)], dim=1)


class CellNet(nn.Module):
    """Three stages of two normal cells with a reduction cell between them; images of 224 x 224."""

    def __init__(self, width: int = 44, classes: int = 1000):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 96, 3, 2, 1, bias=False), nn.BatchNorm2d(96),
                                  nn.MaxPool2d(3, 2, 1))
        cells, older, old, shrink = [], 96, 96, False
        for stage in range(3):
            for reduces in ([True] if stage else []) + [False, False]:
                cell = Cell(older, old, width * 2 ** stage, reduces, shrink)
                cells.append(cell)
                older, old, shrink = old, cell.channels, reduces
        self.cells = nn.ModuleList(cells)
        self.classifier = nn.Linear(old, classes)

    def forward(self, image):
        older = old = self.stem(image)
        for cell in self.cells:
            older, old = old, cell(older, old)
        return self.classifier(torch.relu(old).mean((2, 3)))
