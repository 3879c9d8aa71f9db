"""
One training step of a model (two classes; SGD with momentum 0.9) in PyTorch eager for each line on standard input:

    python3 bench/pytorch_step.py --model resnet50 --size 1024 --format channels_last --threads 2 [--precision bf16] [--compile] [--breakdown]

Of bf16 autocast, with parameters in float32; compiled by torch.compile. vgg16 has head gap; any other is torchvision's, by its name there, but unet. Networks that segment take a class for each pixel. Prints one JSON object a step: {"ms", "loss", "peakBytes"}; peakBytes is the process's peak resident set less what was
resident before the model was made. The first line, {"ready": true, ...}, comes when the model stands.
With --breakdown {"kernels"} too, as pytorch_breakdown.py sums them. tilefold_step.ts speaks the same.
"""

import argparse
import contextlib
import json
import resource
import sys
import time

try:
    import torch
except ImportError:
    sys.exit('this Python has no torch')
from torch import nn
from torch.utils.checkpoint import checkpoint_sequential

CLASSES = 2


def vgg16(classes, inplace):
    layers, channels = [], 3
    for width, depth in ((64, 2), (128, 2), (256, 3), (512, 3), (512, 3)):
        for _ in range(depth):
            layers += [nn.Conv2d(channels, width, 3, padding=1), nn.ReLU(inplace=inplace)]
            channels = width
        layers.append(nn.MaxPool2d(2))
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, classes))


def double_convolution(channels, width):
    convolutions = [nn.Conv2d(channels, width, 3, padding=1), nn.Conv2d(width, width, 3, padding=1)]
    return nn.Sequential(convolutions[0], nn.ReLU(inplace=True), convolutions[1], nn.ReLU(inplace=True))


class UNet(nn.Module):
    """As models/unet.ts has it."""

    def __init__(self, classes):
        super().__init__()
        widths = (64, 128, 256, 512, 1024)
        self.down = nn.ModuleList(double_convolution(channels, width) for channels, width in zip((3, *widths), widths))
        self.up = nn.ModuleList(nn.ConvTranspose2d(2 * width, width, 2, 2) for width in widths[-2::-1])
        self.decode = nn.ModuleList(double_convolution(2 * width, width) for width in widths[-2::-1])
        self.out = nn.Conv2d(widths[0], classes, 1)

    def forward(self, image):
        levels = [self.down[0](image)]
        for down in self.down[1:]:
            levels.append(down(nn.functional.max_pool2d(levels[-1], 2)))
        result = levels.pop()
        for up, decode in zip(self.up, self.decode):
            result = decode(torch.cat([levels.pop(), up(result)], 1))
        return self.out(result)


def torchvision_models():
    try:
        from torchvision import models
    except ImportError:
        sys.exit('this Python has no torchvision')
    except RuntimeError:
        # A build whose compiled operators do not load beside this torch lacks nothing but their names here.
        for module in [module for module in sys.modules if module.split('.')[0] == 'torchvision']:
            del sys.modules[module]
        global operators
        operators = torch.library.Library('torchvision', 'FRAGMENT')
        for operator in ('nms', 'qnms'):
            operators.define(f'{operator}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor')
        from torchvision import models
    return models


def torchvision_model(name, classes):
    models = torchvision_models()
    if hasattr(models.segmentation, name):
        return getattr(models.segmentation, name)(weights=None, weights_backbone=None, num_classes=classes, aux_loss=False)
    if not hasattr(models, name):
        sys.exit(f'torchvision has no {name}')
    special = {'aux_logits': False, 'init_weights': False} if name == 'inception_v3' else {}
    return getattr(models, name)(num_classes=classes, **special)


def scores_of(result):
    return result['out'] if isinstance(result, dict) else result


def timed(step):
    start = time.perf_counter()
    value = step()
    return (time.perf_counter() - start) * 1000, value


def measured(step):
    from pytorch_breakdown import kernels_of

    kernels, (ms, value) = kernels_of(lambda: timed(step))
    return ms, value, {'kernels': kernels}


def peak_bytes():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def resident_bytes():
    with open('/proc/self/statm') as statm:
        return int(statm.read().split()[1]) * resource.getpagesize()


def say(**values):
    print(json.dumps(values), flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--model', default='vgg16')
    parser.add_argument('--size', type=int, required=True, help='height and width')
    parser.add_argument('--batch', type=int, default=1)
    parser.add_argument('--format', choices=['nchw', 'channels_last'], required=True)
    parser.add_argument('--threads', type=int, required=True)
    parser.add_argument('--segments', type=int, default=0, help='of checkpoint_sequential, for vgg16; 0: none')
    parser.add_argument('--precision', choices=['float32', 'bf16'], default='float32')
    parser.add_argument('--compile', action='store_true')
    parser.add_argument('--breakdown', action='store_true', help='where the time of each step went')
    options = parser.parse_args()

    torch.set_num_threads(options.threads)
    torch.manual_seed(1)
    before = resident_bytes()
    memory_format = torch.channels_last if options.format == 'channels_last' else torch.contiguous_format
    # A segment that begins with a rectifier in place would overwrite its checkpoint.
    own = {'vgg16': lambda: vgg16(CLASSES, inplace=options.segments == 0), 'unet': lambda: UNet(CLASSES)}
    model = own[options.model]() if options.model in own else torchvision_model(options.model, CLASSES)
    model = model.to(memory_format=memory_format).train()
    size, batch = options.size, options.batch
    image = torch.randn(batch, 3, size, size).to(memory_format=memory_format)
    is_pixelwise = options.model == 'unet' or 'deeplab' in options.model
    target = (torch.arange(batch * size * size) % CLASSES).reshape(batch, size, size) if is_pixelwise else torch.zeros(batch, dtype=torch.int64)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
    run = torch.compile(model) if options.compile else model
    mixed = torch.autocast('cpu', dtype=torch.bfloat16) if options.precision == 'bf16' else contextlib.nullcontext()
    say(ready=True, version=f'PyTorch {torch.__version__}')

    def step():
        optimizer.zero_grad(set_to_none=True)
        with mixed:
            result = checkpoint_sequential(model, options.segments, image, use_reentrant=False) if options.segments else run(image)
            loss = nn.functional.cross_entropy(scores_of(result), target)
        loss.backward()
        optimizer.step()
        return loss.item()

    for _ in sys.stdin:
        ms, value, more = measured(step) if options.breakdown else (*timed(step), {})
        say(ms=ms, loss=value, peakBytes=peak_bytes() - before, **more)


if __name__ == '__main__':
    main()
