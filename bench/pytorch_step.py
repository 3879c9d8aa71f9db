"""
One training step of VGG-16 (head gap, two classes; SGD with momentum 0.9) in PyTorch eager for each line on standard input:

    python3 bench/pytorch_vgg16.py --height 1024 --width 1024 --format channels_last --threads 2

Prints one JSON object a step: {"ms", "loss", "peakBytes"}; peakBytes is the process's peak resident set less what was
resident before the model was made. The first line, {"ready": true, ...}, comes when the model stands. tilefold_step.ts
speaks the same.
"""

import argparse
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


def vgg16(classes, inplace):
    layers, channels = [], 3
    for width, depth in ((64, 2), (128, 2), (256, 3), (512, 3), (512, 3)):
        for _ in range(depth):
            layers += [nn.Conv2d(channels, width, 3, padding=1), nn.ReLU(inplace=inplace)]
            channels = width
        layers.append(nn.MaxPool2d(2))
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, classes))


def peak_bytes():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def resident_bytes():
    with open('/proc/self/statm') as statm:
        return int(statm.read().split()[1]) * resource.getpagesize()


def say(**values):
    print(json.dumps(values), flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--height', type=int, required=True)
    parser.add_argument('--width', type=int, required=True)
    parser.add_argument('--format', choices=['nchw', 'channels_last'], required=True)
    parser.add_argument('--threads', type=int, required=True)
    parser.add_argument('--segments', type=int, default=0, help='of checkpoint_sequential; 0: none')
    options = parser.parse_args()

    torch.set_num_threads(options.threads)
    torch.manual_seed(1)
    before = resident_bytes()
    memory_format = torch.channels_last if options.format == 'channels_last' else torch.contiguous_format
    # A segment that begins with a rectifier in place would overwrite its checkpoint.
    model = vgg16(2, inplace=options.segments == 0).to(memory_format=memory_format)
    image = torch.randn(1, 3, options.height, options.width).to(memory_format=memory_format)
    target = torch.zeros(1, dtype=torch.int64)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
    say(ready=True, version=f'PyTorch {torch.__version__}')

    for _ in sys.stdin:
        start = time.perf_counter()
        optimizer.zero_grad(set_to_none=True)
        scores = checkpoint_sequential(model, options.segments, image, use_reentrant=False) if options.segments else model(image)
        loss = nn.functional.cross_entropy(scores, target)
        loss.backward()
        optimizer.step()
        value = loss.item()
        say(ms=(time.perf_counter() - start) * 1000, loss=value, peakBytes=peak_bytes() - before)


if __name__ == '__main__':
    main()
