"""
Makes the golden files of test/golden/data from PyTorch, the same bytes on every run with the same PyTorch build:

    python3 test/golden/make.py              # needs torch (made with 2.13.0, CPU), numpy, safetensors

operations.safetensors, operations.json: the small nets of cases.py. Weights, inputs and targets as float32; PyTorch's
float64 gradients of the mean loss; per tensor, the errors of PyTorch's float32 and of its bfloat16 by autocast, whose parameters are
float32 (the larger of NCHW and channels_last), ||g32 - g64|| / ||g64||.

networks.safetensors, networks.json: VGG-16 and DarkNet-19 with five seeds, weights and inputs drawn by draw.py (not stored;
a SHA-256 says whether the test drew the same). Loss, norms and samples of the float64 gradients and of the float64 weights
after three SGD steps; and PyTorch's float32 errors for either memory format: of the loss |l32 - l64|, of all gradients
together ||g32 - g64|| / ||g64||, of all weights together ||w32 - w64|| / ||w64 - w0||.
"""

import json
import pathlib

import torch
from safetensors.torch import save_file

import draw
from cases import KINKED, SMOOTH
from interpreter import gradients, parameter_shapes, trained
from nets import NETS, SEEDS, SGD, STEPS

DATA = pathlib.Path(__file__).parent / 'data'
FORMATS = {'nchw': torch.contiguous_format, 'channelsLast': torch.channels_last}


def relative(value, reference):
    return (torch.linalg.norm(value.double() - reference) / torch.linalg.norm(reference)).item()


def drawn_case(name, shape, layers):
    """Parameters, input and target of a small net, rounded to float32."""
    generator = torch.Generator().manual_seed(draw.fnv1a(name) >> 1)
    normal = lambda size: torch.randn(size, generator=generator, dtype=torch.float64)
    shapes, predicted = parameter_shapes(layers, shape)
    scale = {key: 0.5 if key.endswith('.bias') else torch.Size(size)[1:].numel() ** -0.5 for key, size in shapes.items()}
    parameters = {key: (normal(size) * scale[key]).float() for key, size in shapes.items()}
    labels = layers[-1]['op'] == 'softmaxCrossEntropy'
    target = torch.randint(predicted[1], [predicted[0]], generator=generator) if labels else normal(predicted).float()
    return parameters, normal(shape).float(), target


def operations():
    tensors, rows = {}, []
    for kinked, group in ((False, SMOOTH), (True, KINKED)):
        for name, (shape, listed) in group.items():
            layers = [{'name': str(index), 'op': op, 'args': args} for index, (op, args) in enumerate(listed)]
            parameters, x, target = drawn_case(name, shape, layers)
            loss, exact = gradients(layers, parameters, x, target, torch.float64)
            errors = {}
            for precision, dtype in (('float32', torch.float32), ('bf16', torch.bfloat16)):
                rounded = [gradients(layers, parameters, x, target, dtype, memory_format)[1] for memory_format in FORMATS.values()]
                errors[precision] = {key: max(relative(one[key], exact[key]) for one in rounded) for key in exact}
            values = {'input': x, 'target': target, **parameters, **exact}
            tensors |= {f'{name}/{key}': value for key, value in values.items()}
            rows.append({'name': name, 'kinked': kinked, 'input': shape, 'layers': layers, 'loss': loss, 'pytorchErrors': errors})
    return tensors, rows


def together(values):
    return torch.cat([value.flatten() for value in values])


def sampled(value, count=64):
    """Elements at a Weyl sequence of positions: spread, and the same in every language."""
    flat = value.flatten()
    return flat[[int((index + 1) * 0.6180339887498949 % 1 * len(flat)) for index in range(min(count, len(flat)))]]


def network_seed(layers, shape, seed):
    shapes, predicted = parameter_shapes(layers, shape)
    parameters = {key: torch.from_numpy(draw.parameter(seed, key, size)) for key, size in shapes.items()}
    x = torch.from_numpy(draw.image(seed, shape))
    target = torch.arange(seed, seed + shape[0]) % predicted[1]
    loss, exact = gradients(layers, parameters, x, target, torch.float64)
    after = trained(layers, parameters, x, target, torch.float64, STEPS, SGD)
    moved = together(after[key] - parameters[key].double() for key in parameters)
    errors = {}
    for label, memory_format in FORMATS.items():
        rounded_loss, rounded = gradients(layers, parameters, x, target, torch.float32, memory_format)
        weights = trained(layers, parameters, x, target, torch.float32, STEPS, SGD, memory_format)
        missed = together(weights[key].double() - after[key] for key in parameters)
        errors[label] = {
            'loss': abs(rounded_loss - loss),
            'gradients': relative(together(rounded.values()), together(exact.values())),
            'weights': (torch.linalg.norm(missed) / torch.linalg.norm(moved)).item(),
        }
    results = {**exact, **{f'after.{key}': value for key, value in after.items()}}
    row = {
        'seed': seed, 'target': target.tolist(), 'loss': loss, 'pytorchErrors': errors,
        'sha256': {key: draw.sha256(value.numpy()) for key, value in {'input': x, **parameters}.items()},
        'norms': {key: torch.linalg.norm(value).item() for key, value in results.items()},
    }
    return {key: sampled(value).clone() for key, value in results.items()}, row


def networks():
    tensors, rows = {}, []
    for name, (shape, layers) in NETS.items():
        seeds = []
        for seed in SEEDS:
            samples, row = network_seed(layers, shape, seed)
            tensors |= {f'{name}/{seed}/{key}': value for key, value in samples.items()}
            seeds.append(row)
            print(name, seed, row['loss'], row['pytorchErrors'], flush=True)
        rows.append({'name': name, 'input': shape, 'seeds': seeds})
    return tensors, rows


def write(name, tensors, content):
    save_file({key: value.contiguous() for key, value in tensors.items()}, DATA / f'{name}.safetensors')
    (DATA / f'{name}.json').write_text(json.dumps({'torch': torch.__version__, **content}, indent=1) + '\n')


if __name__ == '__main__':
    torch.set_num_threads(2)
    tensors, rows = operations()
    write('operations', tensors, {'cases': rows})
    tensors, rows = networks()
    write('networks', tensors, {'steps': STEPS, 'sgd': SGD, 'networks': rows})
