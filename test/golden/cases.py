"""The small nets of operations.json: layers as Tilefold writes them, odd sizes throughout."""


def conv(out, k, **args):
    return ('conv2d', {'out': out, 'k': k, **args})


def max_pool(k, **args):
    return ('maxPool2d', {'k': k, **args})


def avg_pool(k, **args):
    return ('avgPool2d', {'k': k, **args})


def linear(out, **args):
    return ('linear', {'out': out, **args})


RELU, FLATTEN, GAP = ('relu', {}), ('flatten', {}), ('globalAvgPool', {})
CROSS_ENTROPY, MEAN_SQUARES = ('softmaxCrossEntropy', {}), ('meanSquaredError', {})

# name: (input shape, layers). The first group has no kinks: rounding alone separates float32 from float64.
SMOOTH = {
    'conv square': ([2, 3, 13, 11], [conv(8, 3, p=1), conv(5, 3), MEAN_SQUARES]),
    'conv one pixel': ([2, 7, 9, 5], [conv(6, 1), conv(3, 1, s=2), MEAN_SQUARES]),
    'conv rectangular': ([1, 4, 11, 15], [conv(5, [1, 7], p=[0, 3]), conv(6, [7, 1], p=[3, 0]), conv(4, [2, 5]), MEAN_SQUARES]),
    'conv strided': ([2, 3, 17, 15], [conv(6, 3, s=2, p=1), conv(7, [3, 5], s=[2, 3], p=[1, 2]), MEAN_SQUARES]),
    'conv stride over kernel': ([1, 3, 19, 17], [conv(5, 2, s=3), conv(4, 1, s=2), MEAN_SQUARES]),
    'conv dilated': ([1, 4, 17, 19], [conv(5, 3, d=2, p=2), conv(4, 3, d=[1, 3]), conv(6, [2, 3], d=[4, 2], p=1), MEAN_SQUARES]),
    'conv dilated strided': ([1, 3, 21, 19], [conv(5, 3, s=2, d=3, p=3), conv(4, 3, s=[1, 2], d=2, p=2), MEAN_SQUARES]),
    'conv grouped': ([2, 6, 11, 9], [conv(9, 3, groups=3, p=1), conv(6, 3, groups=3, s=2), MEAN_SQUARES]),
    'conv depthwise': ([1, 5, 11, 13], [conv(5, 3, groups=5, p=1), conv(10, 3, groups=5, s=2, p=1, bias=False), conv(4, 1), MEAN_SQUARES]),
    'conv grouped wide': ([1, 32, 7, 9], [conv(32, 3, groups=2, p=1), conv(32, 3, groups=32, p=1), MEAN_SQUARES]),
    'conv asymmetric': ([2, 3, 11, 13], [conv(5, 3, p=[1, 2, 0, 3]), conv(6, 4, s=2, p=[2, 1, 1, 2]), conv(4, 3, p=[0, 1, 2, 0]), MEAN_SQUARES]),
    'conv without bias': ([2, 3, 9, 11], [conv(5, 3, p=1, bias=False), conv(4, 3, s=2, bias=False), MEAN_SQUARES]),
    'conv blocks': ([1, 3, 15, 13], [conv(16, 3, p=1), conv(32, 3, p=1), conv(16, 3, s=2, p=1), MEAN_SQUARES]),
    'conv ragged blocks': ([1, 17, 9, 11], [conv(33, 3, p=1), conv(19, 3), conv(16, 3, p=1), conv(2, 3), MEAN_SQUARES]),
    'conv one channel': ([1, 1, 13, 15], [conv(8, 5, p=2), conv(1, 3), MEAN_SQUARES]),
    'conv deep': ([1, 3, 23, 21], [conv(16, 3, p=1), conv(16, 3, p=1), conv(16, 3, s=2, p=1), conv(24, 3, p=1), conv(24, 3, p=1), GAP, linear(3), CROSS_ENTROPY]),
    'conv huge kernel': ([1, 3, 15, 17], [conv(8, 11, s=4, p=2), MEAN_SQUARES]),
    'average pool': ([2, 3, 13, 11], [conv(6, 3, p=1), avg_pool(2), conv(5, 3), avg_pool([2, 3], s=[1, 2]), MEAN_SQUARES]),
    'average pool padded': ([2, 5, 11, 13], [avg_pool(3, s=2, p=1), conv(4, 3, p=1), avg_pool(3, s=1, p=1, countIncludePad=False), MEAN_SQUARES]),
    'average pool ceil': ([1, 4, 12, 15], [avg_pool(3, s=2, ceilMode=True), conv(5, 2), avg_pool(2, ceilMode=True), MEAN_SQUARES]),
    'average pool ceil padded': ([1, 4, 14, 12], [avg_pool(3, s=2, p=1, ceilMode=True), conv(17, 1), avg_pool([3, 2], s=[3, 2], p=[1, 0], ceilMode=True, countIncludePad=False), MEAN_SQUARES]),
    'average pool asymmetric': ([1, 3, 11, 12], [conv(4, 3), avg_pool(3, s=2, p=[1, 0, 0, 1]), MEAN_SQUARES]),
    'global average pool': ([3, 3, 9, 7], [conv(20, 3, p=1), GAP, linear(4), CROSS_ENTROPY]),
    'linear': ([5, 2, 3, 5], [FLATTEN, linear(17), linear(7, bias=False), linear(3), CROSS_ENTROPY]),
    'linear after blocks': ([2, 3, 7, 5], [conv(18, 3), FLATTEN, linear(6), CROSS_ENTROPY]),
    'linear mean squares': ([3, 4, 3, 2], [FLATTEN, linear(5), linear(2), MEAN_SQUARES]),
    'cross-entropy many classes': ([7, 3, 4, 3], [conv(8, 2), GAP, linear(41), CROSS_ENTROPY]),
}
KINKED = {
    'relu': ([2, 3, 11, 9], [conv(6, 3, p=1), RELU, conv(5, 3), RELU, conv(4, 1), MEAN_SQUARES]),
    'leaky relu': ([2, 3, 11, 9], [conv(17, 3, p=1), ('leakyRelu', {'slope': 0.1}), conv(5, 3), ('leakyRelu', {}), MEAN_SQUARES]),
    'max pool': ([2, 3, 13, 11], [conv(6, 3, p=1), max_pool(2), conv(5, 3), max_pool([2, 1]), MEAN_SQUARES]),
    'max pool overlapping': ([1, 4, 15, 13], [max_pool(3, s=2, p=1), conv(5, 3, p=1), max_pool(3, s=1, p=1), MEAN_SQUARES]),
    'max pool ceil': ([1, 4, 12, 15], [conv(18, 1), max_pool(3, s=2, ceilMode=True), conv(4, 2), max_pool(2, ceilMode=True), MEAN_SQUARES]),
    'max pool ceil padded': ([1, 3, 14, 12], [conv(16, 3, p=1), max_pool(3, s=2, p=1, ceilMode=True), max_pool([3, 2], s=[3, 2], p=[1, 0], ceilMode=True), MEAN_SQUARES]),
    'max pool dilated': ([1, 4, 17, 15], [max_pool(3, s=2, d=2), conv(5, 1), max_pool(2, s=1, d=[2, 3], p=1), MEAN_SQUARES]),
    'max pool asymmetric': ([1, 3, 12, 11], [conv(5, 3), max_pool(3, s=2, p=[1, 0, 0, 1]), MEAN_SQUARES]),
    'small vgg': ([2, 3, 18, 22], [conv(8, 3, p=1), RELU, conv(8, 3, p=1), RELU, max_pool(2), conv(16, 3, p=1), RELU, max_pool(2), FLATTEN, linear(9), RELU, linear(3), CROSS_ENTROPY]),
}
