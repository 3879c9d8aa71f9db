"""VGG-16 and DarkNet-19 as models/ builds them (head `gap`, two classes), and how their goldens train.

The rate is large enough that the displacement of the weights, not the rounding of the weights themselves, decides the error."""

SEEDS = [1, 2, 3, 4, 5]
STEPS = 3
SGD = {'lr': 1e-1, 'momentum': 0.9, 'weight_decay': 5e-4}


def with_head(features, classes=2):
    named = [{'name': f'features.{index}', 'op': op, 'args': args} for index, (op, args) in enumerate(features)]
    return named + [
        {'name': 'pool', 'op': 'globalAvgPool', 'args': {}},
        {'name': 'classifier', 'op': 'linear', 'args': {'out': classes}},
        {'name': 'loss', 'op': 'softmaxCrossEntropy', 'args': {}},
    ]


def vgg16():
    features = []
    for width, depth in ((64, 2), (128, 2), (256, 3), (512, 3), (512, 3)):
        for _ in range(depth):
            features += [('conv2d', {'out': width, 'k': 3, 'p': 1}), ('relu', {})]
        features.append(('maxPool2d', {'k': 2, 's': 2}))
    return with_head(features)


def darknet19():
    features = []
    blocks = ([32], [64], [128, 64, 128], [256, 128, 256], [512, 256, 512, 256, 512], [1024, 512, 1024, 512, 1024])
    for number, block in enumerate(blocks):
        if number > 0:
            features.append(('maxPool2d', {'k': 2, 's': 2}))
        for index, width in enumerate(block):
            kernel = {'k': 3, 'p': 1} if index % 2 == 0 else {'k': 1}
            features += [('conv2d', {'out': width, **kernel}), ('leakyRelu', {'slope': 0.1})]
    return with_head(features)


NETS = {'vgg16': ([1, 3, 64, 64], vgg16()), 'darknet19': ([1, 3, 96, 80], darknet19())}
