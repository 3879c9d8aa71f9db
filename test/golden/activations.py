"""
Values and gradients of PyTorch's activation functions, at kinks, infinities and NaN too: data/activations.json.

    python3 test/golden/activations.py    # needs torch (made with 2.13.0, CPU)
"""
import json
import math
from pathlib import Path

import torch
import torch.nn.functional as F

POINTS = [0.0, 1.0, -1.0, 3.0, -3.0, 6.0, -6.0, 0.5, -0.5, 2.9, -2.9, 1e-4, -1e-4, 10.0, -10.0, 19.5, 20.5, -20.5, 60.0, -60.0,
          100.0, -100.0, math.inf, -math.inf, math.nan] + [k / 7 for k in range(-40, 41)]

FUNCTIONS = {
    'sigmoid': torch.sigmoid,
    'tanh': torch.tanh,
    'silu': F.silu,
    'gelu': F.gelu,
    'hardswish': F.hardswish,
    'hardsigmoid': F.hardsigmoid,
    'relu6': F.relu6,
    'mish': F.mish,
    'elu': F.elu,
    'elu 0.5': lambda x: F.elu(x, 0.5),
    'softplus': F.softplus,
    'softplus beta2 threshold10': lambda x: F.softplus(x, 2, 10),
    'hardshrink': F.hardshrink,
    'hardshrink 2': lambda x: F.hardshrink(x, 2),
    'clamp min-1 max3': lambda x: torch.clamp(x, -1, 3),
    'prelu': lambda x: F.prelu(x, torch.tensor([0.25], dtype=x.dtype)),
    'maximum': lambda x: torch.maximum(x, torch.full_like(x, 0.5)),
    'minimum': lambda x: torch.minimum(x, torch.full_like(x, 0.5)),
}


def plain(values):
    return [value if math.isfinite(value) else str(value) for value in values.tolist()]


def golden(function):
    x = torch.tensor(POINTS, dtype=torch.float64, requires_grad=True)
    y = function(x)
    y.backward(torch.ones_like(y))
    return {'values': plain(y.detach()), 'gradients': plain(x.grad)}


data = {'torch': torch.__version__, 'points': plain(torch.tensor(POINTS, dtype=torch.float64)),
        'functions': {name: golden(function) for name, function in FUNCTIONS.items()}}
(Path(__file__).parent / 'data' / 'activations.json').write_text(json.dumps(data) + '\n')
