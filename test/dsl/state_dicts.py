"""
Makes state_dicts.json: what torchvision's models hold, for test/dsl/models.test.ts.

    python3 test/dsl/state_dicts.py > test/dsl/state_dicts.json      # needs torch and torchvision (made with 2.13.0 and 0.29.1)

A model's row: how many trainable numbers it has; how many tensors its state_dict has, `num_batches_tracked` left out; and the SHA-256 of
their lines "name 64x3x7x7", in order of their names. Models that torchvision lacks are put together here from its parts, or from PyTorch's.
"""

import hashlib
import json

import torch
from torch import nn

# Some builds of torchvision lack its compiled operators, of which no model here has need; they are only named then.
operators = torch.library.Library('torchvision', 'FRAGMENT')
for name in ('nms', 'qnms'):
    if not hasattr(torch.ops.torchvision, name):
        operators.define(f'{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor')

from torchvision import models  # noqa: E402
from torchvision.models.segmentation import deeplabv3_resnet50, deeplabv3_resnet101, fcn_resnet50, fcn_resnet101  # noqa: E402
from torchvision.models.segmentation.deeplabv3 import ASPP  # noqa: E402


def rectified(*layers):
    return [layer for one in layers for layer in (one, nn.BatchNorm2d(one.out_channels), nn.ReLU())]


def conv3x3(channels, out):
    return nn.Conv2d(channels, out, 3, padding=1, bias=False)


def deeplabv3plus(classes):
    backbone = models.resnet50(replace_stride_with_dilation=[False, False, True])
    del backbone.fc
    head = nn.Module()
    head.project = nn.Sequential(*rectified(nn.Conv2d(256, 48, 1, bias=False)))
    head.aspp = ASPP(2048, [6, 12, 18])
    head.classifier = nn.Sequential(*rectified(conv3x3(304, 256), conv3x3(256, 256)), nn.Conv2d(256, classes, 1))
    return nn.ModuleDict({'backbone': backbone, 'classifier': head})


def unet(classes, normalised):
    def double(channels, out):
        convolutions = [nn.Conv2d(size, out, 3, padding=1, bias=not normalised) for size in (channels, out)]
        layers = rectified(*convolutions) if normalised else [layer for one in convolutions for layer in (one, nn.ReLU())]
        return nn.ModuleDict({'double_conv': nn.Sequential(*layers)})

    def down(channels, out):
        return nn.ModuleDict({'maxpool_conv': nn.Sequential(nn.MaxPool2d(2), double(channels, out))})

    def up(channels, out):
        return nn.ModuleDict({'up': nn.ConvTranspose2d(channels, out, 2, stride=2), 'conv': double(channels, out)})

    return nn.ModuleDict({
        'inc': double(3, 64), 'down1': down(64, 128), 'down2': down(128, 256), 'down3': down(256, 512), 'down4': down(512, 1024),
        'up1': up(1024, 512), 'up2': up(512, 256), 'up3': up(256, 128), 'up4': up(128, 64),
        'outc': nn.ModuleDict({'conv': nn.Conv2d(64, classes, 1)}),
    })


def darknet19_bn(classes):
    features, channels = [], 3
    for number, block in enumerate(([32], [64], [128, 64, 128], [256, 128, 256], [512, 256, 512, 256, 512], [1024, 512, 1024, 512, 1024])):
        if number > 0:
            features.append(nn.MaxPool2d(2))
        for index, out in enumerate(block):
            features += rectified(conv3x3(channels, out) if index % 2 == 0 else nn.Conv2d(channels, out, 1, bias=False))
            channels = out
    return nn.ModuleDict({'features': nn.Sequential(*features), 'classifier': nn.Conv2d(channels, classes, 1)})


NAMES = [
    'alexnet', *(f'densenet{depth}' for depth in (121, 161, 169, 201)), *(f'resnet{depth}' for depth in (18, 34, 50, 101, 152)),
    *(f'vgg{depth}{kind}' for depth in (11, 13, 16, 19) for kind in ('', '_bn')),
]


def all_models(classes):
    yield from ((name, getattr(models, name)(num_classes=classes)) for name in NAMES)
    yield 'inception_v3', models.inception_v3(num_classes=classes, aux_logits=False, init_weights=False)
    plain = {'weights': None, 'weights_backbone': None, 'num_classes': classes, 'aux_loss': False}
    yield 'deeplabv3_resnet50', deeplabv3_resnet50(**plain)
    yield 'deeplabv3_resnet101', deeplabv3_resnet101(**plain)
    yield 'fcn_resnet50', fcn_resnet50(**plain)
    yield 'fcn_resnet101', fcn_resnet101(**plain)
    yield 'deeplabv3plus', deeplabv3plus(classes)
    yield 'unet', unet(classes, normalised=False)
    yield 'unet_bn', unet(classes, normalised=True)
    yield 'darknet19_bn', darknet19_bn(classes)


def row(model):
    state = {name: value for name, value in model.state_dict().items() if not name.endswith('num_batches_tracked')}
    lines = ''.join(f'{name} {"x".join(map(str, value.shape))}\n' for name, value in sorted(state.items()))
    return {
        'parameters': sum(value.numel() for value in model.parameters()),
        'tensors': len(state),
        'sha256': hashlib.sha256(lines.encode()).hexdigest(),
    }


if __name__ == '__main__':
    with torch.device('meta'):
        print(json.dumps({name: row(model) for name, model in all_models(1000)}, indent=2))
