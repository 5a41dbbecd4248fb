# SPDX-License-Identifier: Apache-2.0
"""Signal processing."""
import math

import torch
import torchaudio
from torch import nn
from torch.nn import functional as F

from making.model import Model, floats

WAVE = {"wave": floats("batch", "samples")}
FIXED = {"wave": floats("batch", 512)}
SIZES = ({"batch": 2, "samples": 512}, {"batch": 1, "samples": 401})


class Spectrogram(nn.Module):
    def __init__(self, power=2.0):
        super().__init__()
        self.register_buffer("window", torch.hann_window(64))
        self.power = power

    def forward(self, wave):
        parts = torch.stft(wave, 64, 16, window=self.window, center=False, return_complex=False)
        return (parts**2).sum(-1) ** (self.power / 2)


class Mel(nn.Module):
    def __init__(self):
        super().__init__()
        self.spectrogram = Spectrogram()
        bank = torchaudio.functional.melscale_fbanks(33, 20.0, 3900.0, 12, 8000)
        self.register_buffer("bank", bank)

    def forward(self, wave):
        mel = self.spectrogram(wave).transpose(1, 2) @ self.bank
        return torch.log(mel.clamp_min(1e-5))


class Cepstrum(nn.Module):
    def __init__(self):
        super().__init__()
        self.mel = Mel()
        self.register_buffer("dct", torchaudio.functional.create_dct(8, 12, "ortho"))

    def forward(self, wave):
        c = self.mel(wave) @ self.dct
        return (c - c.mean(1, keepdim=True)) / (c.std(1, keepdim=True) + 1e-4)


class Transform(nn.Module):
    """Forward and back, with a filter between: complex numbers as pairs."""

    def forward(self, wave):
        s = torch.fft.rfft(wave)
        magnitude = torch.abs(torch.view_as_real(s)).sum(-1)
        keep = (magnitude > 1.0).to(wave.dtype)
        return torch.fft.irfft(s * keep)


class Magnitude(nn.Module):
    """By a convolution with sines and cosines, as nets without an FFT do."""

    def __init__(self):
        super().__init__()
        n = torch.arange(32.0)
        angles = 2 * math.pi * torch.outer(torch.arange(17.0), n) / 32
        basis = torch.cat([angles.cos(), -angles.sin()]) * torch.hann_window(32)
        self.register_buffer("basis", basis[:, None])

    def forward(self, wave):
        x = F.pad(wave[:, None], (16, 16), mode="reflect")
        re, im = F.conv1d(x, self.basis, stride=8).chunk(2, 1)
        return torch.sqrt(re**2 + im**2 + 1e-8), torch.atan2(im, re + 10)


class Filter(nn.Module):
    """A bank of FIR filters, envelopes, decimation."""

    def __init__(self):
        super().__init__()
        self.bank = nn.Conv1d(1, 8, 31, padding=15, bias=False)
        self.register_buffer("smooth", torch.full((8, 1, 9), 1 / 9))

    def forward(self, wave):
        bands = self.bank(wave[:, None])
        envelope = F.conv1d(bands.abs(), self.smooth, padding=4, groups=8)
        return F.avg_pool1d(envelope, 4), bands[..., ::4]


class Recursive(nn.Module):
    """A recursive filter, unrolled over blocks by a matrix of powers."""

    def forward(self, wave):
        blocks = wave[:, :496].unfold(1, 16, 16)
        n = torch.arange(16)
        distance = (n[:, None] - n[None]).clamp_min(0).to(wave.dtype)
        powers = torch.tril(0.9**distance)
        return blocks @ powers.T


class Wavelet(nn.Module):
    """Haar, two levels, and back."""

    def split(self, x):
        even, odd = x[..., 0::2], x[..., 1::2]
        return (even + odd) * 0.5**0.5, (even - odd) * 0.5**0.5

    def join(self, a, d):
        return torch.stack([(a + d) * 0.5**0.5, (a - d) * 0.5**0.5], -1).flatten(-2)

    def forward(self, wave):
        a1, d1 = self.split(wave)
        a2, d2 = self.split(a1)
        d1, d2 = F.softshrink(d1, 0.5), F.hardshrink(d2, 0.5)
        return a2, d2, self.join(self.join(a2, d2), d1)


class Correlation(nn.Module):
    """Autocorrelation over lags, its peak as the pitch."""

    def forward(self, wave):
        x = wave - wave.mean(-1, keepdim=True)
        rows = [(x[:, :400] * torch.roll(x, -lag, 1)[:, :400]).mean(1) for lag in range(4, 12)]
        c = torch.stack(rows, 1)
        value, lag = c.max(1)
        return c / (x.var(1, keepdim=True) + 1e-6), value, lag


class Resample(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torchaudio.transforms.Resample(8000, 6000)

    def forward(self, wave):
        return self.layer(wave)


class Dynamics(nn.Module):
    """A compressor: levels in decibels, running maxima, a limiter, sorting for the median."""

    def forward(self, wave):
        frames = wave[:, :400].reshape(wave.shape[0], 20, 20)
        level = 20 * torch.log10(frames.abs().amax(-1) + 1e-3)
        gain = torch.where(level > -3, (-3 - level) * 0.5, torch.zeros_like(level))
        out = frames * (10 ** (gain / 20))[..., None]
        middle = out.sort(-1).values[..., 10]
        return out.flatten(1), middle, torch.cumsum(level, 1)


class MuLaw(nn.Module):
    """Companding to 8 bits and back."""

    def forward(self, wave):
        x = torch.tanh(wave)
        coded = torch.sign(x) * torch.log1p(255 * x.abs()) / math.log(256)
        codes = ((coded + 1) / 2 * 255 + 0.5).floor().to(torch.uint8)
        y = codes.to(torch.float32) / 255 * 2 - 1
        return codes, torch.sign(y) * (torch.exp(y.abs() * math.log(256)) - 1) / 255


MODELS = [
    Model("spectrogram", Spectrogram, FIXED, ("legacy17.open", "dynamo20"), SIZES),
    Model("mel", Mel, FIXED, ("legacy17.open", "dynamo20.open", "legacy17.extended"), SIZES),
    Model("cepstrum", Cepstrum, FIXED, ("legacy17.open", "dynamo20"), SIZES),
    Model("spectral_filter", Transform, FIXED, ("dynamo20", "dynamo23"), SIZES),
    Model("fourier_convolution", Magnitude, WAVE, ("legacy17.open", "dynamo20.open",
                                                   "legacy17.fp16"), SIZES),
    Model("filter_bank", Filter, WAVE, ("legacy17.open", "dynamo20.open", "legacy17.qdq",
                                        "legacy17.half"), SIZES),
    Model("recursive_filter", Recursive, FIXED, ("legacy17.open", "dynamo20"), SIZES),
    Model("wavelet", Wavelet, FIXED, ("legacy17.open", "dynamo20.open", "legacy17.bfloat"), SIZES),
    Model("autocorrelation", Correlation, WAVE, ("legacy17", "dynamo20"), SIZES),
    Model("resample", Resample, FIXED, ("legacy17.open", "dynamo20.open"), SIZES),
    Model("dynamics", Dynamics, FIXED, ("legacy17.open", "dynamo20"), SIZES),
    Model("mu_law", MuLaw, WAVE, ("legacy17.open", "dynamo20.open"), SIZES),
]
