"""Resizing, adaptive pooling and the loss of pixels by PyTorch in float64: python3 test/golden/pixel_kernels.py writes data/pixel-kernels.json.

Inputs are waves, sin(3 i + phase) over the elements in order: phase 1 for the input, 2 for the gradient of the output.
"""

import json
from pathlib import Path

import torch
import torch.nn.functional as functional


def wave(shape, phase):
    count = torch.tensor(shape).prod().item()
    return torch.sin(3 * torch.arange(count, dtype=torch.float64) + phase).reshape(shape)


def gradients(forward, shape):
    source = wave(shape, 1).requires_grad_()
    destination = forward(source)
    destination.backward(wave(destination.shape, 2))
    return {"destination": destination.flatten().tolist(), "sourceGradient": source.grad.flatten().tolist()}


def resized(shape, size, mode, align):
    corners = {"align_corners": align} if mode == "bilinear" else {}
    values = gradients(lambda x: functional.interpolate(x, size=size, mode=mode, **corners), shape)
    return {"shape": shape, "size": size, "bilinear": int(mode == "bilinear"), "alignCorners": int(align), **values}


def pooled(shape, size):
    return {"shape": shape, "size": size, **gradients(lambda x: functional.adaptive_avg_pool2d(x, size), shape)}


def loss(shape, labels, ignored, weights):
    source = wave(shape, 1).requires_grad_()
    classes = torch.tensor(labels).reshape(shape[0], *shape[2:])
    factors = None if weights is None else torch.tensor(weights, dtype=torch.float64)
    value = functional.cross_entropy(source, classes, weight=factors, ignore_index=ignored)
    value.backward()
    counted = classes != ignored
    normaliser = counted.sum() if factors is None else factors[classes[counted]].sum()
    predicted = source.argmax(1)
    return {
        "shape": shape,
        "labels": labels,
        "ignored": ignored,
        "weights": weights,
        "normaliser": float(normaliser),
        "loss": value.item(),
        "right": int((predicted == classes)[counted].sum()),
        "classes": predicted.flatten().tolist(),
        "sourceGradient": source.grad.flatten().tolist(),
    }


sizes = [([2, 3, 5, 4], [9, 7]), ([1, 2, 9, 7], [4, 3]), ([1, 1, 3, 6], [3, 1]), ([1, 1, 1, 4], [5, 8])]
labels = [0, 3, 255, 1, 2, 2, 255, 0, 1, 3, 3, 2, 0, 255, 1, 1, 2, 0]
cases = {
    "resize": [resized(shape, size, *mode) for shape, size in sizes for mode in [("nearest", False), ("bilinear", False), ("bilinear", True)]],
    "adaptivePool": [pooled(shape, size) for shape, size in sizes],
    "pixelCrossEntropy": [loss([2, 4, 3, 3], labels, 255, weights) for weights in [None, [0.5, 2.0, 1.0, 0.0]]],
}
Path(__file__).with_name("data").joinpath("pixel-kernels.json").write_text(json.dumps(cases) + "\n")
