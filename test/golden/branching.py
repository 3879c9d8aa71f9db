"""
Makes branching.safetensors and branching.json of test/golden/data from PyTorch:

    python3 test/golden/branching.py              # needs torch (made with 2.13.0, CPU), numpy, safetensors
    python3 test/golden/branching.py 'padding'    # of these nets alone: the others stay as they are

Of the small nets of branching_cases.py in training mode: the float64 loss; of the gradient of the input and of every parameter, and of the
running statistics after the step, the norm and up to 64 samples in float64; and per tensor the error of PyTorch's float32 (the larger of
NCHW and channels_last), ||t32 - t64|| / ||t64||. Weights, inputs and targets are drawn by draw.py from seed 1, parameter `a.weight` of a net
from the stream `NET/a.weight`; a SHA-256 over all of them, in the order of `drawn`, says whether the test drew the same.
"""

import hashlib
import json
import sys

import numpy as np
import torch
from safetensors.torch import load_file, save_file

import draw
from branching_cases import CASES, flattened
from interpreter import gradients, parameter_shapes
from make import DATA, FORMATS, relative, sampled

SEED = 1


def target_of(name, loss, predicted):
    if loss['op'] == 'meanSquaredError':
        return draw.normal(SEED, f'{name}/target', int(np.prod(predicted)), 1.0).reshape(predicted)
    shape = [predicted[0], *predicted[2:]]
    return draw.labels(SEED, f'{name}/', shape, predicted[1], loss['args'].get('ignore', 255) if loss['op'] == 'pixelCrossEntropy' else None)


def case(name, shape, nested):
    layers = flattened(nested)
    shapes, predicted = parameter_shapes(layers, shape)
    arrays = {key: draw.spread(SEED, f'{name}/{key}', size) for key, size in shapes.items()}
    arrays['input'] = draw.normal(SEED, f'{name}/input', int(np.prod(shape)), 1.0).reshape(shape)
    arrays['target'] = target_of(name, layers[-1], predicted)
    drawn = {key: torch.from_numpy(value) for key, value in arrays.items()}
    parameters = {key: drawn[key] for key in shapes}
    loss, exact = gradients(layers, parameters, drawn['input'], drawn['target'], torch.float64)
    errors = {key: 0.0 for key in exact}
    for memory_format in FORMATS.values():
        _, rounded = gradients(layers, parameters, drawn['input'], drawn['target'], torch.float32, memory_format)
        errors = {key: max(error, relative(rounded[key], exact[key])) for key, error in errors.items()}
    digest = hashlib.sha256(b''.join(np.ascontiguousarray(value).tobytes() for value in arrays.values()))
    row = {
        'name': name, 'input': shape, 'layers': nested, 'loss': loss, 'drawn': list(arrays), 'sha256': digest.hexdigest(),
        'norms': {key: torch.linalg.norm(value).item() for key, value in exact.items()}, 'pytorchErrors': errors,
    }
    return {f'{name}/{key}': sampled(value).clone() for key, value in exact.items()}, row


if __name__ == '__main__':
    torch.set_num_threads(2)
    asked, tensors, rows = sys.argv[1:] or list(CASES), {}, []
    if asked != list(CASES):
        known = {row['name']: row for row in json.loads((DATA / 'branching.json').read_text())['cases']}
        before = load_file(DATA / 'branching.safetensors')
    for name, (shape, nested) in CASES.items():
        if name not in asked:
            tensors |= {key: value for key, value in before.items() if key.startswith(f'{name}/')}
            rows.append(known[name])
            continue
        samples, row = case(name, shape, nested)
        tensors |= samples
        rows.append(row)
        print(name, row['loss'], max(row['pytorchErrors'].items(), key=lambda pair: pair[1]))
    save_file(tensors, DATA / 'branching.safetensors')
    lines = ',\n'.join(json.dumps(row) for row in rows)
    (DATA / 'branching.json').write_text(f'{{"torch": "{torch.__version__}", "seed": {SEED}, "cases": [\n{lines}\n]}}\n')
