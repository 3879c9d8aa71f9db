"""
Runs a list of Tilefold layers, given as data {name, op, args}, in PyTorch: one meaning for both sides' goldens. A layer of a net that
branches also has `inputs`, the tensors that it reads (0 is the net's input, k the output of layer k), and `block`, the tensor with which
the innermost block around it starts.
"""

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


LOSSES = ('softmaxCrossEntropy', 'pixelCrossEntropy', 'meanSquaredError')


def affine(name, channels):
    return {f'{name}.weight': [channels], f'{name}.bias': [channels]}


def own_shapes(name, op, args, channels):
    """Parameters and buffers of one layer, in the order of PyTorch's state_dict."""
    bias = {f'{name}.bias': [args['out']]} if args.get('bias', True) and op in ('conv2d', 'convTranspose2d', 'linear') else {}
    groups = args.get('groups', 1)
    if op == 'conv2d':
        return {f'{name}.weight': [args['out'], channels // groups, *pair(args['k'])], **bias}
    if op == 'convTranspose2d':
        return {f'{name}.weight': [channels, args['out'] // groups, *pair(args['k'])], **bias}
    if op == 'linear':
        return {f'{name}.weight': [args['out'], channels], **bias}
    if op == 'batchNorm':
        running = {f'{name}.running_mean': [channels], f'{name}.running_var': [channels]}
        return (affine(name, channels) if args.get('affine', True) else {}) | running
    if op == 'groupNorm' and args.get('affine', True) or op == 'instanceNorm' and args.get('affine', False):
        return affine(name, channels)
    return {}


def read(layer, tensors):
    """What a layer reads: the last tensor unless it says otherwise."""
    return [tensors[index] for index in layer.get('inputs', [len(tensors) - 1])]


def parameter_shapes(layers, shape):
    """{parameter or buffer: shape} in the order of the layers, by running zeros of the shape [B, C, H, W] through them; the prediction's shape."""
    shapes, tensors = {}, [torch.zeros(shape, device='meta')]
    for layer in layers:
        own = own_shapes(layer['name'], layer['op'], layer['args'], read(layer, tensors)[0].shape[1])
        shapes |= own
        if layer['op'] not in LOSSES:
            tensors.append(apply(layer, {key: torch.zeros(value, device='meta') for key, value in own.items()}, tensors, None))
    return shapes, list(tensors[-1].shape)


def batch_norm(x, name, args, weight, bias, parameters):
    mean, variance = parameters[f'{name}.running_mean'], parameters[f'{name}.running_var']
    return F.batch_norm(x, mean, variance, weight, bias, not args.get('frozen', False), args.get('momentum', 0.1), args.get('eps', 1e-5))


def resize(x, args, block):
    size = {'size': pair(args['size'])} if 'size' in args else {'scale_factor': pair(args['scale'])} if 'scale' in args else {'size': block.shape[2:]}
    corners = {'align_corners': args.get('alignCorners', False)} if args['mode'] == 'bilinear' else {}
    return F.interpolate(x, mode=args['mode'], **size, **corners)


def apply(layer, parameters, tensors, target):
    op, args, name = layer['op'], layer['args'], layer['name']
    weight, bias = parameters.get(f'{name}.weight'), parameters.get(f'{name}.bias')
    x, *others = read(layer, tensors)
    if op == 'conv2d':
        x, padding = padded(x, args, 0.0)
        return F.conv2d(x, weight, bias, pair(args.get('s', 1)), padding, pair(args.get('d', 1)), args.get('groups', 1))
    if op == 'convTranspose2d':
        sizes = (pair(args.get(key, default)) for key, default in (('s', 1), ('p', 0), ('outputPadding', 0)))
        return F.conv_transpose2d(x, weight, bias, *sizes, args.get('groups', 1), pair(args.get('d', 1)))
    if op == 'batchNorm':
        return batch_norm(x, name, args, weight, bias, parameters)
    if op == 'groupNorm':
        return F.group_norm(x, args['groups'], weight, bias, args.get('eps', 1e-5))
    if op == 'instanceNorm':
        return F.instance_norm(x, weight=weight, bias=bias, eps=args.get('eps', 1e-5))
    if op == 'relu':
        return F.relu(x)
    if op == 'leakyRelu':
        return F.leaky_relu(x, args.get('slope', 0.01))
    if op in ('sigmoid', 'tanh'):
        return getattr(torch, op)(x)
    if op in ('silu', 'gelu'):
        return getattr(F, op)(x)
    if op == 'maxPool2d':
        x, padding = padded(x, args, float('-inf'))
        return F.max_pool2d(x, pair(args['k']), pair(args.get('s', args['k'])), padding, pair(args.get('d', 1)), args.get('ceilMode', False))
    if op == 'avgPool2d':
        x, padding = padded(x, args, 0.0)
        return F.avg_pool2d(x, pair(args['k']), pair(args.get('s', args['k'])), padding, args.get('ceilMode', False), args.get('countIncludePad', True))
    if op == 'adaptiveAvgPool2d':
        return F.adaptive_avg_pool2d(x, pair(args['out']))
    if op == 'globalAvgPool':
        return x.mean((2, 3))
    if op == 'globalMaxPool':
        return F.adaptive_max_pool2d(x, 1).flatten(1)
    if op in ('pixelShuffle', 'pixelUnshuffle'):
        return (F.pixel_shuffle if op == 'pixelShuffle' else F.pixel_unshuffle)(x, args['factor'])
    if op == 'channelShuffle':
        return F.channel_shuffle(x, args['groups'])
    if op == 'narrow':
        return x.narrow(1, args['start'], args['length'])
    if op == 'pad':
        top, bottom, left, right = sides(args['p'])
        mode = args.get('mode', 'zeros')
        return F.pad(x, (left, right, top, bottom), 'constant' if mode == 'zeros' else mode)
    if op == 'resize':
        return resize(x, args, tensors[layer.get('block', 0)])
    if op == 'flatten':
        return x.flatten(1)
    if op == 'linear':
        return F.linear(x, weight, bias)
    if op == 'add':
        return x + others[0]
    if op == 'concat':
        return torch.cat([x, *others], 1)
    if op == 'softmaxCrossEntropy':
        return F.cross_entropy(x, target)
    if op == 'pixelCrossEntropy':
        weights = args.get('classWeights')
        return F.cross_entropy(x, target, None if weights is None else x.new_tensor(weights), ignore_index=args.get('ignore', 255))
    if op == 'meanSquaredError':
        return F.mse_loss(x, target)
    raise ValueError(f'no PyTorch counterpart of {op} here')


def loss_of(layers, parameters, x, target):
    tensors = [x]
    for layer in layers:
        tensors.append(apply(layer, parameters, tensors, target))
    return tensors[-1]


def is_running(name):
    return name.endswith(('.running_mean', '.running_var'))


def prepared(values, dtype, memory_format):
    """Tensors of `dtype`, those of rank 4 in the memory format; leaves, but for running statistics."""
    def one(name, value):
        value = value.detach().clone().to(dtype)
        return (value.to(memory_format=memory_format) if value.dim() == 4 else value).requires_grad_(not is_running(name))
    return {name: one(name, value) for name, value in values.items()}


def gradients(layers, parameters, x, target, dtype, memory_format=torch.contiguous_format):
    """loss (float) and {grad.input, grad.<parameter>, after.<running statistic>} of the mean loss, in `dtype`; bfloat16 is by autocast."""
    autocast = dtype == torch.bfloat16
    stored = torch.float32 if autocast else dtype
    leaves = prepared({'input': x, **parameters}, stored, memory_format)
    target = target.to(stored) if target.is_floating_point() else target
    with torch.autocast('cpu', torch.bfloat16, enabled=autocast):
        value = loss_of(layers, leaves, leaves['input'], target)
    value.backward()
    learned = {f'grad.{name}': leaf.grad.contiguous() for name, leaf in leaves.items() if leaf.requires_grad}
    return value.item(), learned | {f'after.{name}': leaf for name, leaf in leaves.items() if is_running(name)}


def trained(layers, parameters, x, target, dtype, steps, sgd, memory_format=torch.contiguous_format):
    """{parameter: value} after some steps of torch.optim.SGD on one batch."""
    leaves = prepared(parameters, dtype, memory_format)
    optimizer = torch.optim.SGD([leaf for leaf in leaves.values() if leaf.requires_grad], **sgd)
    x = x.to(dtype).to(memory_format=memory_format)
    for _ in range(steps):
        optimizer.zero_grad()
        loss_of(layers, leaves, x, target).backward()
        optimizer.step()
    return {name: leaf.detach().contiguous() for name, leaf in leaves.items()}
