"""Runs a list of Tilefold layers, given as data {name, op, args}, in PyTorch: one meaning for both sides' goldens."""

import torch
import torch.nn.functional as F


def pair(value):
    return [value, value] if isinstance(value, int) else list(value)


def sides(padding):
    """[top, bottom, left, right] of the argument p."""
    if isinstance(padding, int):
        return [padding] * 4
    return list(padding) if len(padding) == 4 else [padding[0], padding[0], padding[1], padding[1]]


def padded(x, args, value):
    """PyTorch pads symmetrically only: what differs between the sides is padded by F.pad, the rest by the operator."""
    top, bottom, left, right = sides(args.get('p', 0))
    if top == bottom and left == right:
        return x, [top, left]
    return F.pad(x, (left, right, top, bottom), value=value), [0, 0]


def parameter_shapes(layers, shape):
    """{parameter: shape} in the order of the layers, by running zeros of the shape [B, C, H, W] through them."""
    shapes, x = {}, torch.zeros(shape, device='meta')
    for layer in layers:
        name, op, args = layer['name'], layer['op'], layer['args']
        if op == 'conv2d':
            shapes[f'{name}.weight'] = [args['out'], x.shape[1] // args.get('groups', 1), *pair(args['k'])]
        if op == 'linear':
            shapes[f'{name}.weight'] = [args['out'], x.shape[1]]
        if op in ('conv2d', 'linear') and args.get('bias', True):
            shapes[f'{name}.bias'] = [args['out']]
        if op not in ('softmaxCrossEntropy', 'meanSquaredError'):
            own = {key: torch.zeros(value, device='meta') for key, value in shapes.items() if key.rsplit('.', 1)[0] == name}
            x = apply(layer, own, x, None)
    return shapes, list(x.shape)


def apply(layer, parameters, x, target):
    op, args = layer['op'], layer['args']
    weight, bias = parameters.get(layer['name'] + '.weight'), parameters.get(layer['name'] + '.bias')
    if op == 'conv2d':
        x, padding = padded(x, args, 0.0)
        return F.conv2d(x, weight, bias, pair(args.get('s', 1)), padding, pair(args.get('d', 1)), args.get('groups', 1))
    if op == 'relu':
        return F.relu(x)
    if op == 'leakyRelu':
        return F.leaky_relu(x, args.get('slope', 0.01))
    if op == 'maxPool2d':
        x, padding = padded(x, args, float('-inf'))
        return F.max_pool2d(x, pair(args['k']), pair(args.get('s', args['k'])), padding, pair(args.get('d', 1)), args.get('ceilMode', False))
    if op == 'avgPool2d':
        x, padding = padded(x, args, 0.0)
        return F.avg_pool2d(x, pair(args['k']), pair(args.get('s', args['k'])), padding, args.get('ceilMode', False), args.get('countIncludePad', True))
    if op == 'globalAvgPool':
        return x.mean((2, 3))
    if op == 'flatten':
        return x.flatten(1)
    if op == 'linear':
        return F.linear(x, weight, bias)
    if op == 'softmaxCrossEntropy':
        return F.cross_entropy(x, target)
    if op == 'meanSquaredError':
        return F.mse_loss(x, target)
    raise ValueError(f'no PyTorch counterpart of {op} here')


def prepared(values, dtype, memory_format):
    """Leaf tensors of `dtype`, those of rank 4 in the memory format."""
    def one(value):
        value = value.detach().clone().to(dtype)
        return (value.to(memory_format=memory_format) if value.dim() == 4 else value).requires_grad_()
    return {name: one(value) for name, value in values.items()}


def gradients(layers, parameters, x, target, dtype, memory_format=torch.contiguous_format):
    """loss (float) and {grad.input, grad.<parameter>} of the mean loss, in `dtype`."""
    leaves = prepared({'input': x, **parameters}, dtype, memory_format)
    target = target.to(dtype) if target.is_floating_point() else target
    value = leaves['input']
    for layer in layers:
        value = apply(layer, leaves, value, target)
    value.backward()
    return value.item(), {f'grad.{name}': leaf.grad.contiguous() for name, leaf in leaves.items()}


def trained(layers, parameters, x, target, dtype, steps, sgd, memory_format=torch.contiguous_format):
    """{parameter: value} after some steps of torch.optim.SGD on one batch."""
    leaves = prepared(parameters, dtype, memory_format)
    optimizer = torch.optim.SGD(list(leaves.values()), **sgd)
    x = x.to(dtype).to(memory_format=memory_format)
    for _ in range(steps):
        optimizer.zero_grad()
        value = x
        for layer in layers:
            value = apply(layer, leaves, value, target)
        value.backward()
        optimizer.step()
    return {name: leaf.detach().contiguous() for name, leaf in leaves.items()}
