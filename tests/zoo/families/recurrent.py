# SPDX-License-Identifier: Apache-2.0
"""Recurrent networks."""
import torch
from torch import nn

from making.model import Model, floats, ids

SERIES = {"x": floats("batch", "time", 12)}
SIZES = ({"batch": 3, "time": 7}, {"batch": 1, "time": 1})


class Tagger(nn.Module):
    """Embedding, recurrent layers, a label for each token."""

    def __init__(self, kind, **more):
        super().__init__()
        self.embed = nn.Embedding(97, 16)
        self.layers = kind(16, 20, batch_first=True, **more)
        self.out = nn.LazyLinear(5)
        self(torch.zeros(1, 2, dtype=torch.long))

    def forward(self, ids):
        return self.out(self.layers(self.embed(ids))[0])


class WithState(nn.Module):
    """State in, state out: a step of a stream."""

    def __init__(self, kind):
        super().__init__()
        self.layers = kind(12, 16, num_layers=2, batch_first=True)

    def forward(self, x, *state):
        out, after = self.layers(x, state if len(state) > 1 else state[0])
        return (out, *(after if len(state) > 1 else (after,)))


class LastState(nn.Module):
    def __init__(self, kind, **more):
        super().__init__()
        self.layers = kind(12, 16, batch_first=True, **more)
        self.norm = nn.LayerNorm(16)

    def forward(self, x):
        return self.norm(self.layers(x)[0][:, -1])


class Cells(nn.Module):
    """Unrolled by hand."""

    def __init__(self, cell):
        super().__init__()
        self.cell = cell(12, 16)

    def forward(self, x):
        state = None
        for t in range(6):
            state = self.cell(x[:, t], state)
        return state


class ConvLstm(nn.Module):
    def __init__(self):
        super().__init__()
        self.gates = nn.Conv2d(3 + 8, 32, 3, padding=1)

    def forward(self, frames):
        h = frames.new_zeros(frames.shape[0], 8, frames.shape[3], frames.shape[4])
        c = h
        for t in range(4):
            i, f, o, g = self.gates(torch.cat([frames[:, t], h], 1)).chunk(4, 1)
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            h = torch.sigmoid(o) * torch.tanh(c)
        return h, c


class Attentive(nn.Module):
    """A GRU that reads, one that writes, and attention between them."""

    def __init__(self):
        super().__init__()
        self.read = nn.GRU(12, 16, batch_first=True, bidirectional=True)
        self.write = nn.GRU(8, 32, batch_first=True)
        self.out = nn.Linear(64, 9)

    def forward(self, x, y):
        states, last = self.read(x)
        start = torch.cat([last[0], last[1]], -1)[None]
        queries, _ = self.write(y, start)
        weights = torch.softmax(queries @ states.transpose(1, 2) / 32**0.5, -1)
        return self.out(torch.cat([queries, weights @ states], -1))


class Crnn(nn.Module):
    """Reads text in images: convolutions, then a recurrent net over columns."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
                                    nn.MaxPool2d(2), nn.Conv2d(16, 24, 3, padding=1), nn.ReLU(),
                                    nn.MaxPool2d((8, 1)))
        self.rnn = nn.LSTM(24, 16, bidirectional=True)
        self.out = nn.Linear(32, 11)

    def forward(self, x):
        columns = self.layers(x).squeeze(2).permute(2, 0, 1)
        return torch.log_softmax(self.out(self.rnn(columns)[0]), -1)


class MinimalGru(nn.Module):
    """Parallel scan by cumulative log sums."""

    def __init__(self):
        super().__init__()
        self.gate, self.value = nn.Linear(12, 16), nn.Linear(12, 16)

    def forward(self, x):
        k = self.gate(x)
        keep = -nn.functional.softplus(k)
        add = -nn.functional.softplus(-k) + nn.functional.logsigmoid(self.value(x))
        total = torch.cumsum(keep, 1)
        return torch.exp(total + torch.log(torch.cumsum(torch.exp(add - total), 1)))


IDS = {"ids": ids("batch", "time")}
STATE = floats(2, "batch", 16)
MODELS = [
    Model("lstm_tagger", lambda: Tagger(nn.LSTM, bidirectional=True), IDS,
          ("legacy17.open", "dynamo20", "legacy17.open.dynamic", "legacy17.extended"), SIZES),
    Model("gru_tagger", lambda: Tagger(nn.GRU, num_layers=2), IDS,
          ("legacy17.open", "dynamo23", "legacy17.half"), SIZES),
    Model("rnn_tagger", lambda: Tagger(nn.RNN, nonlinearity="relu"), IDS,
          ("legacy17.open", "dynamo20"), SIZES),
    Model("lstm_state", lambda: WithState(nn.LSTM), SERIES | {"h": STATE, "c": STATE},
          ("legacy17.open", "legacy20", "dynamo20", "legacy17.open.fp16"), SIZES),
    Model("gru_state", lambda: WithState(nn.GRU), SERIES | {"h": STATE}, ("legacy17.open",), SIZES),
    Model("lstm_last", lambda: LastState(nn.LSTM, num_layers=2), SERIES,
          ("legacy17.open",), SIZES),
    Model("lstm_projected", lambda: LastState(nn.LSTM, num_layers=1, bias=False), SERIES,
          ("legacy20.open",), SIZES),
    Model("gru_last", lambda: LastState(nn.GRU), SERIES, ("legacy17.open", "legacy17.qdq"), SIZES),
    Model("lstm_cells", lambda: Cells(nn.LSTMCell), {"x": floats("batch", 6, 12)},
          ("legacy17.open", "dynamo20.open", "legacy17.qdq"), SIZES),
    Model("gru_cells", lambda: Cells(nn.GRUCell), {"x": floats("batch", 6, 12)},
          ("dynamo23.open", "legacy17.open"), SIZES),
    Model("conv_lstm", ConvLstm, {"frames": floats("batch", 4, 3, "h", "w")},
          ("legacy17.open", "dynamo20.open"), ({"batch": 2, "h": 9, "w": 12},
                                               {"batch": 1, "h": 16, "w": 5})),
    Model("attentive_gru", Attentive, SERIES | {"y": floats("batch", "steps", 8)},
          ("legacy17.open", "dynamo20"), ({"batch": 2, "time": 7, "steps": 5},
                                          {"batch": 1, "time": 3, "steps": 1})),
    Model("crnn", Crnn, {"image": floats("batch", 1, 16, "width")},
          ("legacy17.open", "dynamo20.open"), ({"batch": 2, "width": 40},
                                               {"batch": 1, "width": 23})),
    Model("minimal_gru", MinimalGru, SERIES, ("legacy17.open", "dynamo23.open"), SIZES),
]
