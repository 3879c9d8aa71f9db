"""
Makes torchvision.safetensors and torchvision.json of test/golden/data from PyTorch:

    python3 test/golden/torchvision_nets.py [NAME ...]    # needs torch, torchvision (made with 2.13.0, CPU, and 0.29.1), numpy, safetensors

Of the named networks alone, where there are names; the others stay as they are.

Networks of torchvision in training mode (without dropout) from five seeds, as they are and smooth: with silu for each rectifier and average
pooling for maximum, so that nothing but rounding separates float32 from float64. Weights, images and labels are drawn by hashed.py and not
stored. In float64: the loss; the sketch of all gradients; two samples of every running statistic after the step. And PyTorch's float32
errors in either memory format: of the loss |l32 - l64|, and of all gradients together ||g32 - g64|| / ||g64||.
"""

import functools
import json
import pathlib
import sys
from unittest import mock

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from torch.nn import functional as F

import hashed

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / 'dsl'))
from state_dicts import deeplabv3_resnet50, fcn_resnet50, models  # noqa: E402
from make import DATA, FORMATS, relative, sampled, together  # noqa: E402

CLASSES, SEEDS = 5, [1, 2, 3, 4, 5]

NETS = {
    'resnet18': ([2, 3, 64, 64], lambda: models.resnet18(num_classes=CLASSES)),
    'resnet50': ([2, 3, 64, 64], lambda: models.resnet50(num_classes=CLASSES)),
    'densenet121': ([2, 3, 64, 64], lambda: models.densenet121(num_classes=CLASSES)),
    'inception_v3': ([2, 3, 107, 107], lambda: models.inception_v3(num_classes=CLASSES, aux_logits=False, init_weights=False, dropout=0.0)),
    'deeplabv3_resnet50': ([3, 3, 33, 41], lambda: deeplabv3_resnet50(weights=None, weights_backbone=None, num_classes=CLASSES)),
    'fcn_resnet50': ([3, 3, 33, 41], lambda: fcn_resnet50(weights=None, weights_backbone=None, num_classes=CLASSES)),
}


def own_name(name):
    """The name under which it is drawn and sketched: the linear layer's in earlier versions."""
    return name.replace('fc.', 'classifier.') if name.startswith('fc.') else name


def drawn(name, shape):
    """Convolutions of deviation sqrt(2 / fan out), linear layers 0.01, biases zero, normalisation the identity."""
    if len(shape) == 1:
        return np.full(shape, 0 if name.endswith(('.bias', '.running_mean')) else 1, np.float32)
    return hashed.uniform(name, shape, (2 / (shape[0] * shape[2] * shape[3])) ** 0.5 if len(shape) == 4 else 0.01)


def labels(seed, shape):
    """Of pixels an eighth does not count."""
    h = hashed.hashes(f'{seed}/target', int(np.prod(shape)))
    classes = (h % CLASSES).astype(np.int64)
    return torch.from_numpy(np.where(h >> 29 == 0, 255, classes) if len(shape) == 3 else classes).reshape(shape)


def opened(make, seed, dtype, memory_format):
    """The network in training mode with the seed's weights."""
    with torch.device('meta'):
        net = make()
    net = net.to_empty(device='cpu')
    state = {key: value for key, value in net.state_dict().items() if not key.endswith('num_batches_tracked')}
    weights = {key: torch.from_numpy(drawn(f'{seed}/{own_name(key)}', list(value.shape))) for key, value in state.items()}
    net.load_state_dict(weights, strict=False)
    for module in net.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    return net.to(dtype).to(memory_format=memory_format).train()


def average(x, kernel_size, stride, padding=0, *_, **__):
    return F.avg_pool2d(x, kernel_size, stride, padding)


def smoothed(call):
    """Calls with other functions in the place of F.relu and F.max_pool2d, which torchvision's modules all use."""
    with mock.patch.object(F, 'relu', F.silu), mock.patch.object(F, 'max_pool2d', average):
        return call()


def run(make, shape, seed, dtype=torch.float64, memory_format=torch.contiguous_format):
    """Loss, {grad.input, grad.<parameter>} in float64, {running statistic} after the step."""
    net = opened(make, seed, dtype, memory_format)
    x = torch.from_numpy(hashed.uniform(f'{seed}/input', shape, 1.0)).to(dtype).to(memory_format=memory_format).requires_grad_()
    made = net(x)
    scores = made['out'] if isinstance(made, dict) else made
    loss = F.cross_entropy(scores, labels(seed, [scores.shape[0], *scores.shape[2:]]), ignore_index=255)
    loss.backward()
    leaves = {'input': x, **dict(net.named_parameters())}
    gradients = {f'grad.{own_name(key)}': leaf.grad.contiguous().double() for key, leaf in leaves.items()}
    return loss.item(), gradients, {key: value for key, value in net.named_buffers() if not key.endswith('num_batches_tracked')}


def statistics(running):
    """Two samples of each."""
    return torch.cat([sampled(running[key].double(), 2) for key in sorted(running)])


def network_seed(make, shape, seed):
    loss, gradients, running = run(make, shape, seed)
    errors = {}
    for label, memory_format in FORMATS.items():
        rounded_loss, rounded, _ = run(make, shape, seed, torch.float32, memory_format)
        errors[label] = {
            'loss': abs(rounded_loss - loss),
            'gradients': relative(together(rounded.values()), together(gradients.values())),
        }
    samples = {
        'gradients': torch.from_numpy(hashed.sketch({key: value.numpy() for key, value in gradients.items()})),
        'running': statistics(running),
    }
    return samples, {'seed': seed, 'loss': loss, 'pytorchErrors': errors}


def network(name):
    """Its tensors, and its rows as it is and smooth."""
    shape, make = NETS[name]
    tensors, rows = {}, []
    for smooth in (False, True):
        seeds = []
        for seed in SEEDS:
            call = functools.partial(network_seed, make, shape, seed)
            samples, row = smoothed(call) if smooth else call()
            tensors |= {f'{name}/{"smooth" if smooth else "as it is"}/{seed}/{key}': value for key, value in samples.items()}
            seeds.append(row)
            print(name, smooth, seed, row['loss'], row['pytorchErrors'], flush=True)
        rows.append({'name': name, 'smooth': smooth, 'input': shape, 'seeds': seeds})
    return tensors, rows


if __name__ == '__main__':
    torch.set_num_threads(2)
    names = sys.argv[1:]
    kept = [name for name in NETS if names and name not in names]
    tensors = {key: value for key, value in load_file(DATA / 'torchvision.safetensors').items() if key.split('/')[0] in kept} if kept else {}
    stored = json.loads((DATA / 'torchvision.json').read_text())['networks'] if kept else []
    rows = []
    for name in NETS:
        if name in kept:
            rows += [row for row in stored if row['name'] == name]
            continue
        made, its_rows = network(name)
        tensors |= made
        rows += its_rows
    save_file(tensors, DATA / 'torchvision.safetensors')
    content = {'torch': torch.__version__, 'classes': CLASSES, 'networks': rows}
    (DATA / 'torchvision.json').write_text(json.dumps(content, indent=1) + '\n')
