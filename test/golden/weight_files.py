"""
Makes test/golden/data/weights: files of weights as PyTorch and safetensors write them.

    python3 test/golden/weight_files.py    # needs torch, torchvision (made with 2.13.0, CPU, and 0.29.1), safetensors

resnet18.pth has torchvision's ResNet-18 with 5 classes under its own names. To be small, its tensors are strided views of a few storages,
which torch.save writes once each. values.json has the scores that it gives an image, in float64, and what stands in the other files.
"""

import argparse
import collections
import enum
import json
import pathlib
import random
import sys
import types

import numpy
import torch
from safetensors.torch import save_file

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / 'dsl'))
from state_dicts import models  # noqa: E402

FOLDER = pathlib.Path(__file__).parent / 'data' / 'weights'
MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
HEIGHT, WIDTH = 70, 53


def small_resnet18():
    """Views of one storage for each number of inputs; variances and scales near one."""
    generator = torch.Generator().manual_seed(1)
    pools, state = {}, {}

    def view(shape, key, values):
        strides = [1, 3, 1, 1][: len(shape)] if len(shape) > 1 else [1]
        reach = 1 + sum((extent - 1) * stride for extent, stride in zip(shape, strides))
        if key not in pools or len(pools[key]) < reach:
            pools[key] = values(2200)
        return pools[key].as_strided(shape, strides)

    with torch.device('meta'):
        shapes = {name: list(value.shape) for name, value in models.resnet18(num_classes=5).state_dict().items()}
    for name, shape in shapes.items():
        if name.endswith('num_batches_tracked'):
            state[name] = torch.tensor(1)
        elif len(shape) > 1:
            fan = torch.Size(shape[1:]).numel()
            state[name] = view(shape, fan, lambda count: torch.randn(count, generator=generator) * (2 / fan) ** 0.5)
        elif name.endswith(('.weight', 'running_var')):
            state[name] = view(shape, 'ones', lambda count: 0.8 + 0.4 * torch.rand(count, generator=generator))
        else:
            state[name] = view(shape, 'zeros', lambda count: 0.1 * torch.randn(count, generator=generator))
    return state


def scores(state):
    net = models.resnet18(num_classes=5)
    net.load_state_dict(state)
    pixels = (torch.arange(HEIGHT * WIDTH * 3, dtype=torch.int64) * 7919 % 251).reshape(HEIGHT, WIDTH, 3).permute(2, 0, 1).double() / 255
    image = (pixels - torch.tensor(MEAN).double().reshape(3, 1, 1)) / torch.tensor(STD).double().reshape(3, 1, 1)
    with torch.no_grad():
        return net.double().eval()(image[None])[0].tolist()


def sundry():
    """Types, views and shapes that a state dict may have."""
    shared = torch.arange(24, dtype=torch.float32) / 7
    exact = torch.tensor([0.0, -0.0, 1.0, -2.5, 65504.0, 6.103515625e-05, 5.960464477539063e-08, -3.0517578125e-05])
    return {
        'whole': shared.reshape(2, 3, 4),
        'part': shared[5:11],
        'transposed': shared.reshape(4, 6).t(),
        'steps': shared.reshape(2, 3, 4)[:, ::2, 1::2],
        'expanded': torch.tensor([1.5, -2.0]).expand(3, 2),
        'scalar': torch.tensor(0.25),
        'empty': torch.zeros(0, 3),
        'half': exact.half(),
        'bfloat16': torch.tensor([1.0, -1.5, 3.3895e38, 1e-40, 0.1]).bfloat16(),
        'double': torch.tensor([1 / 3, -1e300, 2.0], dtype=torch.float64),
        'parameter': torch.nn.Parameter(torch.tensor([3.0, 4.0])),
    }


class Stage(enum.Enum):
    FINE = 1


class History:
    def __init__(self):
        self.values, self.owner = numpy.arange(3.0), self


# Of a module that no reader has, as a trainer's own classes are.
trainer = types.ModuleType('trainer')
trainer.Stage, trainer.History = Stage, History
Stage.__module__ = History.__module__ = trainer.__name__
sys.modules[trainer.__name__] = trainer


def beside():
    """What training scripts put beside the weights."""
    return {
        'args': argparse.Namespace(arch='small', output=pathlib.PurePosixPath('runs/1'), crop=torch.Size([16, 16])),
        'best': numpy.float64(0.75),
        'scalars': [numpy.float32(1), numpy.dtype('int64'), numpy.int64(2)],
        'seen': collections.Counter('abca'),
        'by_class': collections.defaultdict(list, {1: [2]}),
        'classes': {'tumour', 'stroma'},
        'fixed': frozenset([1, 2]),
        'raw': b'\0\xff',
        'buffer': bytearray(b'ab'),
        'queue': collections.deque([1, 2], maxlen=3),
        'stage': Stage.FINE,
        'history': History(),
        'types': [torch.float16, torch.device('cpu'), torch.nn.functional.relu, History],
        'random': [random.Random(1).getstate(), numpy.random.RandomState(1).get_state()],
        'spectrum': torch.zeros(2, dtype=torch.complex64),
        'sparse': torch.eye(2).to_sparse(),
        'huge': 2**80,
    }


if __name__ == '__main__':
    FOLDER.mkdir(parents=True, exist_ok=True)
    state = small_resnet18()
    torch.save(state, FOLDER / 'resnet18.pth')
    tensors = sundry()
    torch.save(tensors, FOLDER / 'sundry.pt')
    save_file({name: value.detach().clone(memory_format=torch.contiguous_format) for name, value in tensors.items()}, FOLDER / 'sundry.safetensors')
    net = torch.nn.DataParallel(torch.nn.Sequential(torch.nn.Conv2d(3, 2, 1), torch.nn.BatchNorm2d(2)))
    optimizer = torch.optim.Adam(net.parameters())
    torch.save({'epoch': 3, 'state_dict': net.state_dict(), 'optimizer': optimizer.state_dict()}, FOLDER / 'checkpoint.pth')
    trained = {**beside(), 'model': {**net.module.state_dict(), 'classes': ('a', 'b'), 'size': torch.Size([16, 16])}}
    torch.save(trained, FOLDER / 'training.pth')
    torch.save(trained, FOLDER / 'training-5.pth', pickle_protocol=5)
    torch.save(net.module, FOLDER / 'module.pt')
    torch.save(net.module.state_dict(), FOLDER / 'before-zip.pth', _use_new_zipfile_serialization=False)
    values = {name: {'shape': list(value.shape), 'values': value.detach().double().flatten().tolist()} for name, value in tensors.items()}
    checkpoint = {name: value.double().flatten().tolist() for name, value in net.module.state_dict().items()}
    content = {'torch': torch.__version__, 'image': [HEIGHT, WIDTH], 'scores': scores(state), 'sundry': values, 'checkpoint': checkpoint}
    (FOLDER / 'values.json').write_text(json.dumps(content, indent=1) + '\n')
