"""
Where the time of a step of PyTorch's went on the CPU: operators by torch.profiler, each without those that it calls, and
the primitives of its convolutions by oneDNN's own log, since PyTorch names the gradients of data and of weights alike.
"""

import collections
import ctypes
import os
import tempfile

import torch
from torch.profiler import ProfilerActivity, profile

# What oneDNN is asked for by convolutions alone; a convolution's own operators are all but these.
PRIMITIVES = ('convolution', 'deconvolution', 'reorder')


def logged(run):
    """What `run` returns, and the lines that oneDNN, which is C, writes to standard output meanwhile."""
    flush = ctypes.CDLL(None).fflush
    with tempfile.TemporaryFile('w+') as log:
        kept = os.dup(1)
        try:
            os.dup2(log.fileno(), 1)
            with torch.backends.mkldnn.verbose(torch.backends.mkldnn.VERBOSE_ON):
                result = run()
        finally:
            flush(None)
            os.dup2(kept, 1)
            os.close(kept)
        log.seek(0)
        return result, log.read().splitlines()


def primitives_of(lines):
    """(name, ms) of each: onednn_verbose,v1,primitive,exec,cpu,convolution,brgconv_1x1:avx512_core,forward_training,...,0.03"""
    for line in lines:
        fields = line.split(',')
        if fields[:1] == ['onednn_verbose'] and 'exec' in fields:
            kind, _, direction = fields[fields.index('exec') + 2 :][:3]
            if kind in PRIMITIVES:
                yield f'oneDNN {kind}' + ('' if kind == 'reorder' else f' {direction}'), float(fields[-1])


def is_of_optimizer(event):
    while event is not None:
        if event.name.startswith('Optimizer.'):
            return True
        event = event.cpu_parent
    return False


def kernels_of(run):
    """[{"kernel", "launches", "ms"}] of `run`, and what it returns."""

    def profiled():
        with profile(activities=[ProfilerActivity.CPU]) as profiler:
            result = run()
        return result, profiler.events()

    (result, events), lines = logged(profiled)
    sums = collections.defaultdict(lambda: [0, 0.0])

    def add(name, launches, ms):
        sums[name][0] += launches
        sums[name][1] += ms

    for event in events:
        convolves = 'convolution' in event.name and event.name.startswith('aten::')
        name = 'optimizer' if is_of_optimizer(event) else 'convolutions, around oneDNN' if convolves else event.name
        add(name, 1, event.self_cpu_time_total / 1000)
    for name, ms in primitives_of(lines):
        add(name, 1, ms)
        # The operator's own time holds its primitives'.
        add('convolutions, around oneDNN', 0, -ms)
    return [{'kernel': name, 'launches': launches, 'ms': ms} for name, (launches, ms) in sums.items()], result
