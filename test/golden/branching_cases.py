"""
The small nets of branching.json: every op that normalises, joins, resamples, moves or transposes, on odd sizes. Layers as Tilefold writes them,
nested; those that learn are named. None has kinks, so that rounding alone separates float32 from float64 (largest elements are larger than
others by far more). No bias stands right before a normalisation that takes it away again, whose gradient would be nothing but rounding; and
none normalises the few maxima of a channel, which may lie so close together that rounding is a hundred times as large behind it.
"""


def op(kind, **args):
    return {'op': kind, 'args': args}


def named(name, kind, **args):
    return op('named', name=name, layer=op(kind, **args))


def conv(name, out, k, **args):
    return named(name, 'conv2d', out=out, k=k, **args)


def unbiased(name, out, k, **args):
    return conv(name, out, k, bias=False, **args)


def transposed(name, out, k, **args):
    return named(name, 'convTranspose2d', out=out, k=k, **args)


def norm(name, **args):
    return named(name, 'batchNorm', **args)


def resize(mode, **args):
    return op('resize', mode=mode, **args)


def adaptive(out):
    return op('adaptiveAvgPool2d', out=out)


def mean_pool(k, **args):
    return op('avgPool2d', k=k, **args)


def residual(main, shortcut=()):
    return op('residual', main=main, shortcut=list(shortcut))


def parallel(*branches):
    return op('parallel', branches=list(branches))


def dense(*layers):
    return parallel([], list(layers))


SILU, SIGMOID, TANH, GELU = op('silu'), op('sigmoid'), op('tanh'), op('gelu')
SQUARES, CLASSES, PIXELS = op('meanSquaredError'), op('softmaxCrossEntropy'), op('pixelCrossEntropy')


def normalised(name, out, k, **args):
    """A convolution, its normalisation, silu: convolution NAME, normalisation NAMEn."""
    return [unbiased(name, out, k, **args), norm(f'{name}n'), SILU]


def scores(name, classes):
    return [op('globalAvgPool'), named(name, 'linear', out=classes), CLASSES]


def basic_block(name, width, s=1, projects=False):
    shortcut = [unbiased(f'{name}p', width, 1, s=s), norm(f'{name}pn')] if projects else []
    return [residual([*normalised(f'{name}a', width, 3, s=s, p=1), unbiased(f'{name}b', width, 3, p=1), norm(f'{name}bn')], shortcut), SILU]


def dense_layer(name, growth):
    return dense(norm(f'{name}an'), SILU, unbiased(f'{name}a', 2 * growth, 1), norm(f'{name}bn'), SILU, unbiased(f'{name}b', growth, 3, p=1))


def pyramid(width, *dilations):
    branches = [normalised(f'd{d}', width, 3, d=d, p=d) for d in dilations]
    whole = [adaptive(1), *normalised('whole', width, 1), resize('bilinear', to='block')]
    return [parallel(normalised('d0', width, 1), *branches, whole), *normalised('project', width, 1)]


# name: (input shape, layers)
CASES = {
    'silu': ([2, 3, 13, 11], [conv('a', 7, 3, p=1), SILU, conv('b', 5, 3), SILU, SQUARES]),
    'sigmoid, tanh, gelu': ([2, 3, 13, 11], [conv('a', 18, 3, p=1), SIGMOID, conv('b', 7, 3), TANH, conv('c', 5, 3), GELU, SQUARES]),
    'activations of vectors': ([5, 3, 3, 2], [op('flatten'), named('a', 'linear', out=9), GELU, named('b', 'linear', out=7), SIGMOID, named('c', 'linear', out=6), SILU, named('d', 'linear', out=3), TANH, SQUARES]),
    'batch norm': ([2, 3, 13, 11], [*normalised('a', 6, 3, p=1), unbiased('b', 19, 3), norm('bn', eps=1e-3, momentum=0.3), SQUARES]),
    'batch norm of the input': ([3, 5, 9, 13], [norm('an'), SILU, unbiased('a', 6, 3), mean_pool(2), norm('bn'), SQUARES]),
    'batch norm twice': ([2, 4, 9, 8], [unbiased('a', 6, 3), norm('an'), TANH, norm('bn'), SILU, conv('b', 3, 1), SQUARES]),
    'batch norm without weights': ([2, 3, 11, 9], [unbiased('a', 6, 3, p=1), norm('an', affine=False), SILU, conv('b', 4, 3), SQUARES]),
    'batch norm frozen': ([2, 3, 11, 9], [conv('a', 6, 3, p=1), norm('an', frozen=True), SILU, conv('b', 4, 3), norm('bn', frozen=True, affine=False), SQUARES]),
    'batch norm of one image': ([1, 3, 15, 14], [*normalised('a', 8, 3, s=2), *normalised('b', 16, 3, p=1), *scores('c', 4)]),
    'group norm': ([2, 3, 11, 13], [conv('a', 6, 3, p=1), named('an', 'groupNorm', groups=2), SILU, conv('b', 20, 3), named('bn', 'groupNorm', groups=5, eps=1e-3), SILU, conv('c', 4, 1), SQUARES]),
    'group norm of one group': ([3, 4, 8, 9], [conv('a', 18, 3), named('an', 'groupNorm', groups=1), SILU, conv('b', 6, 1), named('bn', 'groupNorm', groups=1, affine=False), SQUARES]),
    'instance norm': ([2, 3, 11, 13], [unbiased('a', 6, 3, p=1), op('instanceNorm'), SILU, unbiased('b', 17, 3), named('bn', 'instanceNorm', affine=True, eps=1e-3), SILU, conv('c', 4, 1), SQUARES]),
    'residual': ([2, 3, 13, 11], [conv('a', 6, 3, p=1), *basic_block('b', 6), SQUARES]),
    'residual projected': ([2, 3, 13, 11], [conv('a', 6, 3, p=1), *basic_block('b', 18, s=2, projects=True), *basic_block('c', 18), conv('d', 2, 1), SQUARES]),
    'residual of the input': ([2, 5, 9, 7], [residual([conv('a', 5, 3, p=1), SILU]), SILU, residual([conv('b', 4, 1)], [conv('c', 4, 3, p=1)]), SQUARES]),
    'dense': ([2, 3, 13, 11], [unbiased('a', 6, 3, s=2, p=1), dense_layer('b', 5), dense_layer('c', 5), norm('tn'), SILU, unbiased('t', 8, 1), mean_pool(2), dense_layer('d', 4), SQUARES]),
    'dense blocks of sixteen': ([1, 16, 9, 8], [dense_layer('a', 16), dense_layer('b', 16), conv('c', 16, 1), SQUARES]),
    'parallel': ([2, 4, 13, 12], [conv('a', 6, 3, p=1), parallel([conv('b', 5, 1)], [conv('c1', 4, 1), SILU, conv('c2', 7, [1, 7], p=[0, 3]), SILU, conv('c3', 7, [7, 1], p=[3, 0])], [mean_pool(3, s=1, p=1), conv('d', 3, 1)], []), SILU, conv('e', 3, 3), SQUARES]),
    'parallel halved': ([2, 4, 13, 12], [parallel(normalised('a', 6, 3, s=2), [*normalised('b', 5, 1), *normalised('c', 7, 3, p=1), *normalised('d', 7, 3, s=2)], [mean_pool(3, s=2)]), conv('e', 5, 3), SQUARES]),
    'nested blocks': ([2, 4, 11, 12], [conv('a', 6, 3, p=1), residual([parallel([conv('b', 2, 1)], [conv('c', 6, 3, p=1), SILU, residual([conv('d', 6, 3, p=1), TANH])], []), SILU, conv('e', 6, 1)]), parallel([residual([conv('f', 6, 3, p=1)])], [SIGMOID]), conv('g', 3, 3), SQUARES]),
    'depthwise': ([2, 5, 13, 11], [unbiased('a', 5, 3, p=1, groups=5), norm('an'), SILU, unbiased('b', 18, 1), norm('bn'), SILU, conv('c', 18, 3, p=2, d=2, groups=18), SILU, conv('d', 36, 3, s=2, groups=18), conv('e', 4, 1), SQUARES]),
    'depthwise blocks': ([1, 32, 9, 11], [conv('a', 32, 3, p=1, groups=32), SILU, conv('b', 32, 5, p=2, s=2, groups=32), SILU, conv('c', 5, 1), SQUARES]),
    'dilated by 12': ([1, 5, 27, 31], [conv('a', 17, 3, d=12, p=12), SILU, conv('b', 6, 3, d=[12, 3], p=[12, 3]), SQUARES]),
    'dilated by 24': ([1, 16, 27, 31], [conv('a', 16, 3, d=24, p=24), SILU, conv('b', 16, 3, d=36, p=36), SQUARES]),
    'transposed': ([2, 3, 7, 6], [conv('a', 6, 3, p=1), transposed('b', 5, 2, s=2), SILU, transposed('c', 4, 3, s=2, p=1, outputPadding=1), SILU, conv('d', 3, 3), SQUARES]),
    'transposed overlapping': ([1, 5, 6, 7], [transposed('a', 17, 4, s=2, p=1), SILU, transposed('b', 6, [3, 5], s=[1, 3], p=[1, 2], outputPadding=[0, 2]), SILU, transposed('c', 3, 3, d=2, p=2, bias=False), SQUARES]),
    'transposed grouped': ([2, 6, 5, 6], [transposed('a', 9, 3, s=2, groups=3), SILU, transposed('b', 9, 2, s=3, groups=9), SQUARES]),
    'transposed blocks': ([1, 32, 5, 6], [transposed('a', 16, 2, s=2), SILU, transposed('b', 16, 4, s=2, p=1), SQUARES]),
    'resize bilinear': ([2, 3, 7, 9], [conv('a', 5, 3, p=1), resize('bilinear', scale=2), conv('b', 4, 3), resize('bilinear', size=[17, 23]), conv('c', 3, 3), resize('bilinear', size=[6, 5]), SQUARES]),
    'resize aligned': ([2, 3, 7, 9], [conv('a', 5, 3, p=1), resize('bilinear', scale=2, alignCorners=True), conv('b', 4, 3), resize('bilinear', size=[17, 23], alignCorners=True), conv('c', 3, 3), resize('bilinear', size=[5, 1], alignCorners=True), SQUARES]),
    'resize nearest': ([2, 3, 7, 9], [conv('a', 18, 3, p=1), resize('nearest', scale=[2, 3]), conv('b', 4, 3), resize('nearest', size=[17, 23]), conv('c', 3, 3), resize('nearest', size=[6, 5]), SQUARES]),
    'resize to the block': ([2, 3, 11, 13], [conv('a', 5, 3, s=2), parallel([], [mean_pool(2), conv('b', 4, 1), resize('bilinear', to='block')], [adaptive(1), conv('c', 3, 1), SILU, resize('nearest', to='block')]), conv('d', 4, 1), resize('bilinear', to='block', alignCorners=True), SQUARES]),
    'adaptive average pool': ([2, 3, 13, 11], [conv('a', 18, 3, p=1), adaptive([7, 5]), conv('b', 5, 1), SILU, adaptive([9, 2]), conv('c', 4, 1), adaptive(1), op('flatten'), named('d', 'linear', out=3), CLASSES]),
    'pixel cross-entropy': ([2, 3, 9, 11], [conv('a', 8, 3, p=1), SILU, conv('b', 5, 1), PIXELS]),
    'pixel cross-entropy weighted': ([2, 3, 9, 11], [conv('a', 8, 3, p=1), SILU, conv('b', 21, 1), op('pixelCrossEntropy', ignore=21, classWeights=[0.25 + 0.125 * index for index in range(21)])]),
    'small resnet': ([2, 3, 23, 21], [*normalised('a', 8, 7, s=2, p=3), mean_pool(3, s=2, p=1), *basic_block('b', 8), *basic_block('c', 16, s=2, projects=True), *scores('d', 5)]),
    'small unet': ([2, 3, 12, 16], [*normalised('a', 4, 3, p=1), dense(mean_pool(2), *normalised('b', 8, 3, p=1), dense(mean_pool(2), *normalised('c', 16, 3, p=1), transposed('d', 8, 2, s=2)), *normalised('e', 8, 3, p=1), transposed('f', 4, 2, s=2)), *normalised('g', 4, 3, p=1), conv('h', 3, 1), PIXELS]),
    'small deeplab': ([3, 3, 25, 29], [*normalised('a', 6, 3, s=2, p=1), *basic_block('b', 6), *pyramid(7, 2, 12, 24), conv('c', 4, 1), resize('bilinear', to='block'), PIXELS]),
    'small deeplab with decoder': ([2, 3, 25, 29], [*normalised('a', 6, 3, s=2, p=1), parallel(normalised('low', 3, 1), [*basic_block('b', 8, s=2, projects=True), *pyramid(6, 2, 3), resize('bilinear', to='block')]), *normalised('c', 6, 3, p=1), conv('d', 4, 1), resize('bilinear', to='block'), PIXELS]),
    'batch norm of vectors': ([5, 3, 7, 6], [unbiased('a', 18, 3, p=1), op('globalAvgPool'), norm('an'), SILU, named('b', 'linear', out=9, bias=False), norm('bn', eps=1e-3, momentum=0.3), TANH, named('c', 'linear', out=4), CLASSES]),
    'pixel shuffle': ([2, 3, 7, 6], [conv('a', 18, 3, p=1), op('pixelShuffle', factor=3), SILU, conv('b', 8, 3, p=1), op('pixelShuffle', factor=2), SILU, conv('c', 3, 3, s=2), SQUARES]),
    'pixel unshuffle': ([2, 3, 12, 18], [op('pixelUnshuffle', factor=3), conv('a', 5, 3, p=1), SILU, op('pixelUnshuffle', factor=2), conv('b', 4, 1), SQUARES]),
    'channel shuffle': ([2, 3, 7, 6], [conv('a', 12, 3, p=1), op('channelShuffle', groups=3), SILU, conv('b', 20, 3, p=1, groups=4), op('channelShuffle', groups=2), conv('c', 5, 1, groups=5), SQUARES]),
    'channel split': ([2, 3, 7, 6], [conv('a', 36, 3, p=1), parallel([op('narrow', start=0, length=17)], [op('narrow', start=17, length=19), conv('b', 19, 3, p=1), SILU]), op('channelShuffle', groups=2), op('narrow', start=5, length=30), conv('c', 4, 3, s=2), SQUARES]),
    'padding': ([2, 3, 7, 6], [conv('a', 18, 3, p=1), op('pad', p=[6, 2, 0, 5], mode='reflect'), conv('b', 5, 3), SILU, op('pad', p=[1, 9], mode='replicate'), conv('c', 4, 3, s=2), SILU, op('pad', p=[0, 3, 2, 1]), conv('d', 3, 3, s=2), SQUARES]),
    'global max pool': ([3, 3, 9, 8], [unbiased('a', 18, 3), SILU, op('globalMaxPool'), named('b', 'linear', out=4), CLASSES]),
    'batch norm of pooled pixels': ([3, 3, 9, 8], [unbiased('a', 18, 3), SILU, adaptive(1), norm('an'), TANH, unbiased('b', 5, 1), norm('bn', affine=False), SQUARES]),
}


def flattened(layers):
    """The ops of nested layers in order, each with the tensors that it reads and the one with which its block starts."""
    flat = []

    def append(kind, args, name, inputs, block):
        flat.append({'name': name or f'op {len(flat)}', 'op': kind, 'args': args, 'inputs': inputs, 'block': block})
        return len(flat)

    def through(branch, tensor, block):
        for layer in branch:
            tensor = place(layer, None, tensor, block)
        return tensor

    def place(layer, name, tensor, block):
        kind, args = layer['op'], layer['args']
        if kind == 'named':
            return place(args['layer'], args['name'], tensor, block)
        if kind == 'residual':
            return append('add', {}, None, [through(branch, tensor, tensor) for branch in (args['main'], args['shortcut'])], block)
        if kind == 'parallel':
            return append('concat', {}, None, [through(branch, tensor, tensor) for branch in args['branches']], block)
        return append(kind, args, name, [tensor], block)

    through(layers, 0, 0)
    return flat
