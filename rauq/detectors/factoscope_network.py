"""The network of Factoscope: three untrained ResNet-18s and a recurrent network, joined into one embedding.

Rows are (B, K, c + 21): for each of K layers c columns of the hidden state, the reciprocal rank, ten cosines and ten
probabilities. No network's parameters depend on K or c.
"""

import numpy as np
import torch
from torch import Tensor, nn

STAGES = 4  # in training the networks join one after another; the last stage has all
_OTHERS = (1, 10, 10)  # columns after the hidden state
_PART, _EMBEDDING, _DROPOUT = 24, 64, 0.5
_WIDTHS = (64, 128, 256, 512)
_AT_ONCE = 64


class _Block(nn.Module):
    """A basic block: two convolutions, and the input added to what they give."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            _convolution(inputs, outputs, size=3, stride=stride),
            nn.ReLU(),
            _convolution(outputs, outputs, size=3, stride=1),
        )
        same = inputs == outputs and stride == 1
        self.shortcut = nn.Identity() if same else _convolution(inputs, outputs, size=1, stride=stride)

    def forward(self, images: Tensor) -> Tensor:
        return torch.relu(self.body(images) + self.shortcut(images))


def _convolution(inputs: int, outputs: int, *, size: int, stride: int) -> nn.Module:
    layer = nn.Conv2d(inputs, outputs, size, stride, padding=size // 2, bias=False)
    nn.init.kaiming_normal_(layer.weight, mode="fan_out", nonlinearity="relu")
    return nn.Sequential(layer, nn.BatchNorm2d(outputs))


def _first_convolution() -> nn.Module:
    """With torch's own initial weights: the port replaces that of torchvision, which has three channels."""
    return nn.Sequential(nn.Conv2d(1, _WIDTHS[0], 7, 2, padding=3, bias=False), nn.BatchNorm2d(_WIDTHS[0]))


def _resnet18() -> nn.Module:
    """He et al. (2016), for images of one channel (B, 1, height, width) of any size: (B, 24)."""
    inputs, blocks = _WIDTHS[0], []
    for width in _WIDTHS:
        blocks += [_Block(inputs, width, 1 if width == inputs else 2), _Block(width, width, 1)]
        inputs = width
    stem = [_first_convolution(), nn.ReLU(), nn.MaxPool2d(3, 2, padding=1)]
    return nn.Sequential(*stem, *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(_WIDTHS[-1], _PART))


class _RankNetwork(nn.Module):
    """Two recurrent layers along the K layers of the model: (B, K) to (B, 24)."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.GRU(1, 128, batch_first=True)
        self.second = nn.GRU(128, 64, batch_first=True)
        self.head = nn.Sequential(nn.Dropout(_DROPOUT), nn.Linear(64, 32), nn.Linear(32, _PART))

    def forward(self, ranks: Tensor) -> Tensor:
        steps, _ = self.first(ranks[..., None])
        steps, _ = self.second(steps)
        return self.head(steps[:, -1])


class Network(nn.Module):
    """Rows to embeddings (B, 64) of length 1; in stage 1 to the normalised output (B, 24) of the first network.

    Networks that have not joined yet count as 0.
    """

    def __init__(self) -> None:
        super().__init__()
        self.hidden = _resnet18()
        self.ranks = _RankNetwork()
        self.cosines = _resnet18()
        self.probabilities = _resnet18()
        self.joint = nn.Linear(STAGES * _PART, _EMBEDDING)

    def forward(self, rows: Tensor, stage: int = STAGES) -> Tensor:
        """The embeddings of rows, with the first `stage` networks."""
        columns = rows.shape[-1] - sum(_OTHERS)
        hidden, ranks, cosines, probabilities = rows.split([columns, *_OTHERS], dim=-1)
        calls = (
            (self.hidden, hidden[:, None]),
            (self.ranks, ranks[..., 0]),
            (self.cosines, cosines[:, None]),
            (self.probabilities, probabilities[:, None]),
        )
        parts = [network(given) for network, given in calls[:stage]]
        if stage == 1:
            return nn.functional.normalize(parts[0], dim=1)
        absent = rows.new_zeros(len(rows), (STAGES - stage) * _PART)
        return nn.functional.normalize(torch.relu(self.joint(torch.cat([*parts, absent], dim=1))), dim=1)


def packed(network: Network) -> np.ndarray:
    """All parameters and running statistics in one array (P,) float32, in the order of the network's state."""
    return torch.cat([one.reshape(-1) for one in _state(network).values()]).numpy()


def unpacked(weights: np.ndarray) -> Network:
    """The network with these parameters, for use, not for training."""
    with torch.device("meta"):
        network = Network()
    wanted = _state(network)
    parts = torch.from_numpy(weights.astype(np.float32)).split([one.numel() for one in wanted.values()])
    state = {name: torch.zeros_like(one, device="cpu") for name, one in network.state_dict().items()}
    state |= {name: part.view(one.shape) for (name, one), part in zip(wanted.items(), parts, strict=True)}
    network.load_state_dict(state, assign=True)
    return network.eval()


def _state(network: Network) -> dict[str, Tensor]:
    """What the network computes with: the batches that its norms have counted are left out."""
    return {name: one for name, one in network.state_dict().items() if one.is_floating_point()}


@torch.no_grad()
def embedded(network: Network, rows: np.ndarray) -> np.ndarray:
    """Embeddings (n, 64) of rows (n, K, c + 21), float64."""
    network.eval()
    blocks = torch.from_numpy(rows.astype(np.float32)).split(_AT_ONCE)
    return torch.cat([network(block) for block in blocks]).double().numpy()
