"""PyTorch's training with parameter groups, micro-batches, clipping and class weights: writes data/torch.json. Run with PyTorch and no arguments."""

import json
from pathlib import Path

import torch
from torch import nn

torch.set_default_dtype(torch.float64)
CLASS_WEIGHTS = [0.5, 2.0, 1.25]
ROWS, MICRO_BATCHES, UPDATES = 2, 2, 3
INPUT = (3, 9, 7)


def values(count, phase):
    """Numbers from -1 to 1 that JavaScript computes to the same bits."""
    return [((i + phase) * 7919 % 2003) / 1000 - 1 for i in range(count)]


def net():
    pool = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten())
    layers = nn.Sequential(
        nn.Conv2d(3, 4, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(4, 6, 3), nn.ReLU(), pool, nn.Linear(6, 3)
    )
    for number, parameter in enumerate(layers.parameters()):
        parameter.data = torch.tensor(values(parameter.numel(), 100 * number)).reshape(parameter.shape)
    return layers


def train(optimizer, max_norm):
    layers = net()
    layers[0].weight.requires_grad_(False)
    groups = [
        {"params": [layers[0].bias, layers[3].weight, layers[3].bias]},
        {"params": [layers[6].weight], "lr": 0.05 * 3, "weight_decay": 0.2},
        {"params": [layers[6].bias], "lr": 0.05 * 3, "weight_decay": 0.0},
    ]
    steps = optimizer(groups)
    loss_of = nn.CrossEntropyLoss(weight=torch.tensor(CLASS_WEIGHTS))
    losses, norms = [], []
    rows = ROWS * MICRO_BATCHES
    for update in range(UPDATES):
        images = torch.tensor(values(rows * 3 * 9 * 7, 1000 * (update + 1))).reshape(rows, *INPUT)
        labels = torch.tensor([(update + row) % 3 for row in range(rows)])
        steps.zero_grad()
        loss = loss_of(layers(images), labels)
        loss.backward()
        norms.append(nn.utils.clip_grad_norm_(layers.parameters(), max_norm).item())
        steps.step()
        losses.append(loss.item())
    weights = {name: parameter.detach().flatten().tolist() for name, parameter in layers.named_parameters()}
    scores = layers(torch.tensor(values(ROWS * 3 * 9 * 7, 0)).reshape(ROWS, *INPUT)).flatten().tolist()
    return {"losses": losses, "norms": norms, "weights": weights, "scores": scores}


results = {
    "sgd": train(lambda groups: torch.optim.SGD(groups, lr=0.05, momentum=0.9, weight_decay=0.01), 0.3),
    "adam": train(lambda groups: torch.optim.Adam(groups, lr=0.05, weight_decay=0.01), 0.3),
    "adamw": train(lambda groups: torch.optim.AdamW(groups, lr=0.05, weight_decay=0.01), 0.3),
}
(Path(__file__).parent / "data" / "torch.json").write_text(json.dumps(results) + "\n")
