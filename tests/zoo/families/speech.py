# SPDX-License-Identifier: Apache-2.0
"""Speech: recognition, keywords, separation, vocoders."""
import torch
import torchaudio
import transformers as t
from torch import nn

from making.model import Model, floats, ids
from making.transformer import Plain

WAVE = {"wave": floats("batch", "samples")}
SIZES = ({"batch": 2, "samples": 1600, "frames": 40, "steps": 5},
         {"batch": 1, "samples": 1111, "frames": 17, "steps": 1})
SMALL = dict(vocab_size=32, hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
             intermediate_size=48, conv_dim=(16, 16, 16), conv_stride=(5, 2, 2),
             conv_kernel=(10, 3, 2), num_conv_pos_embeddings=8, num_conv_pos_embedding_groups=4,
             num_feat_extract_layers=3, attn_implementation="eager", mask_time_prob=0.0)
WHISPER = dict(vocab_size=97, num_mel_bins=16, d_model=32, encoder_layers=2, decoder_layers=2,
               encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=48,
               decoder_ffn_dim=48, max_source_positions=20, max_target_positions=32,
               pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=3,
               attn_implementation="eager", suppress_tokens=None, begin_suppress_tokens=None)


def wav(kind, suffix="ForCTC", results=("logits",), **more):
    def build():
        config = getattr(t, kind + "Config")(**(SMALL | more))
        return Plain(getattr(t, kind + suffix)(config), ["input_values"], list(results))
    return build


class WhisperEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.model = t.WhisperModel(t.WhisperConfig(**WHISPER)).encoder

    def forward(self, mel):
        return self.model(mel, return_dict=False)[0]


class WhisperDecoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.model = t.WhisperForConditionalGeneration(t.WhisperConfig(**WHISPER))

    def forward(self, ids, states):
        out = self.model(decoder_input_ids=ids, encoder_outputs=(states,), use_cache=False)
        return out.logits


class Keywords(nn.Module):
    """A small-footprint net over mel frames, depthwise in time."""

    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(1, 24, (10, 4), (2, 2), (5, 1))
        self.blocks = nn.Sequential(*(nn.Sequential(
            nn.Conv2d(24, 24, 3, padding=1, groups=24), nn.BatchNorm2d(24), nn.ReLU6(),
            nn.Conv2d(24, 24, 1), nn.BatchNorm2d(24), nn.ReLU6()) for _ in range(3)))
        self.out = nn.Linear(24, 12)

    def forward(self, mel):
        x = self.blocks(torch.relu(self.first(mel.unsqueeze(1))))
        return self.out(x.mean((2, 3))).log_softmax(-1)


class DeepSpeech(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv1d(16, 24, 5, 2, 2), nn.BatchNorm1d(24),
                                  nn.Hardtanh(0, 20))
        self.rnn = nn.GRU(24, 20, 2, batch_first=True, bidirectional=True)
        self.out = nn.Linear(40, 29)

    def forward(self, mel):
        x = self.conv(mel.transpose(1, 2)).transpose(1, 2)
        return self.out(self.rnn(x)[0]).log_softmax(-1)


class Vocoder(nn.Module):
    """HiFi-GAN's: transposed convolutions and residual blocks."""

    def __init__(self):
        super().__init__()
        self.first = nn.Conv1d(16, 32, 7, padding=3)
        self.up = nn.ModuleList([nn.ConvTranspose1d(32, 16, 8, 4, 2),
                                 nn.ConvTranspose1d(16, 8, 4, 2, 1)])
        self.blocks = nn.ModuleList(nn.ModuleList(nn.Conv1d(c, c, 3, dilation=d, padding=d)
                                                  for d in (1, 3)) for c in (16, 8))
        self.last = nn.Conv1d(8, 1, 7, padding=3)

    def forward(self, mel):
        x = self.first(mel)
        for up, block in zip(self.up, self.blocks):
            x = up(nn.functional.leaky_relu(x, 0.1))
            for conv in block:
                x = x + conv(nn.functional.leaky_relu(x, 0.1))
        return torch.tanh(self.last(nn.functional.leaky_relu(x)))


class Streaming(nn.Module):
    """A causal convolution whose context goes in and out, then an LSTM with state."""

    def __init__(self):
        super().__init__()
        self.conv, self.rnn = nn.Conv1d(16, 24, 4), nn.LSTM(24, 16, batch_first=True)

    def forward(self, mel, context, h, c):
        x = torch.cat([context, mel], 2)
        y, (h, c) = self.rnn(torch.relu(self.conv(x)).transpose(1, 2), (h, c))
        return torch.sigmoid(y), x[:, :, -3:], h, c


class Conformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torchaudio.models.conformer.ConformerLayer(32, 48, 4, 7)

    def forward(self, x):
        return self.layer(x, None)


class Separation(nn.Module):
    def __init__(self):
        super().__init__()
        self.model = torchaudio.models.ConvTasNet(2, 8, 24, 3, 16, 24, 2, 1)

    def forward(self, wave):
        return self.model(wave.unsqueeze(1))


MEL = {"mel": floats("batch", "frames", 16)}
STREAM = {"mel": floats("batch", 16, "frames"), "context": floats("batch", 16, 3),
          "h": floats(1, "batch", 16), "c": floats(1, "batch", 16)}
MODELS = [
    Model("whisper_encoder", WhisperEncoder, {"mel": floats("batch", 16, 40)},
          ("legacy17.open", "dynamo20.open", "dynamo23.half", "legacy17.qdq",
           "legacy17.open.dynamic"), SIZES),
    Model("whisper_decoder", WhisperDecoder, {"ids": ids("batch", "steps"),
                                              "states": floats("batch", 20, 32)},
          ("dynamo20.open", "dynamo20"), SIZES),
    Model("wav2vec2", wav("Wav2Vec2"), WAVE, ("legacy17", "legacy17.open", "dynamo20",
                                              "legacy17.open.fp16"), SIZES),
    Model("hubert", wav("Hubert"), WAVE, ("legacy17.open", "dynamo20"), SIZES),
    Model("sew", wav("SEW", squeeze_factor=2), WAVE, ("legacy17",), SIZES),
    Model("keywords", Keywords, MEL, ("legacy17.open", "dynamo20.open", "legacy17.qoperator",
                                      "legacy17.qdq_channels", "legacy17.bfloat"), SIZES),
    Model("deep_speech", DeepSpeech, MEL, ("legacy17.open", "dynamo20"), SIZES),
    Model("vocoder", Vocoder, {"mel": floats("batch", 16, "frames")},
          ("legacy17.open", "dynamo20.open", "legacy20.half"), SIZES),
    Model("streaming", Streaming, STREAM, ("legacy17.open", "legacy17.extended"), SIZES),
    Model("conformer", Conformer, {"x": floats("frames", "batch", 32)},
          ("legacy17", "dynamo23"), SIZES),
    Model("conv_tasnet", Separation, WAVE, ("legacy17", "dynamo20"), SIZES),
]
