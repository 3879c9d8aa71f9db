"""
PyTorch beside Tilefold on one device: VGG-16 (head gap) and ResNet-50 as gpu/check.ts asks for them, one JSON object a line.

    python3 bench/pytorch_peer.py --device cuda

The first line, {"ready": true, "version", "device", "memoryBytes"}, comes when torch is loaded. Then, for each line read:

- {"kind": "train", "model", "classes", "parameters", "batch", "size", "mode", "segments", "format", "precision", "memoryBytes", "steps"}:
  whole training steps (SGD with momentum 0.9) of vgg16, resnet50 or a network of torchvision that segments, which must have so many
  parameters, on noise of batch images of
  size x size pixels, held to memoryBytes (what the driver needs aside; null: the whole card); mode is plain, checkpoint
  (checkpoint_sequential of so many segments) or offload (save_on_cpu from pinned memory). Answers {"ms": [...], "peakBytes", "loss"}.
- {"kind": "prepare", ... as train, "compile", "warm"}: keeps such a step, compiled by torch.compile where "compile" says so, after so many
  steps to warm it up. Answers {"prepared": true}; then {"kind": "steps", "steps"} answers as train does.
- {"kind": "gradients", "weights", "batch", "precision", "out"}: safetensors in and out as `tilefold gradients` has them, of VGG-16;
  precision may be float64 too. Answers {"loss"}.
- {"kind": "memory"}: answers {"usedBytes"}, what the driver counts on the whole card.

Precision is float32, tf32 or bf16: autocast, with parameters in float32.
What fails answers {"error", "outOfMemory", "isLost"} and the next line is read, unless isLost: an error of CUDA's leaves nothing to go on with.
"""

import argparse
import contextlib
import gc
import json
import struct
import sys
import time

from pytorch_resnet50 import resnet50
from pytorch_step import say, scores_of, torchvision_model, vgg16

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint_sequential

DTYPES = {'F32': torch.float32, 'F64': torch.float64, 'I64': torch.int64}
CLASSES = 2


def read_tensors(path):
    with open(path, 'rb') as file:
        (length,) = struct.unpack('<Q', file.read(8))
        header = json.loads(file.read(length))
        data = bytearray(file.read())
    header.pop('__metadata__', None)
    tensors = {}
    for name, entry in header.items():
        begin, end = entry['data_offsets']
        tensors[name] = torch.frombuffer(data[begin:end], dtype=DTYPES[entry['dtype']]).reshape(entry['shape'])
    return tensors


def write_tensors(path, tensors):
    names = {dtype: name for name, dtype in DTYPES.items()}
    header, offset, parts = {}, 0, []
    for name, tensor in tensors.items():
        values = tensor.detach().cpu().contiguous()
        size = values.numel() * values.element_size()
        header[name] = {'dtype': names[values.dtype], 'shape': list(values.shape), 'data_offsets': [offset, offset + size]}
        parts.append(values.numpy().tobytes())
        offset += size
    text = json.dumps(header).encode()
    with open(path, 'wb') as file:
        file.write(struct.pack('<Q', len(text)) + text + b''.join(parts))


class Peer:
    def __init__(self, device):
        self.device = device
        self.cuda = device == 'cuda'
        self.step = None

    def synchronize(self):
        if self.cuda:
            torch.cuda.synchronize()

    def total_bytes(self):
        return torch.cuda.get_device_properties(0).total_memory if self.cuda else None

    def set_precision(self, precision):
        torch.backends.cuda.matmul.allow_tf32 = precision == 'tf32'
        torch.backends.cudnn.allow_tf32 = precision == 'tf32'

    def mixed(self, precision):
        # Parameters stay in float32, as Tilefold's do.
        return torch.autocast(self.device, dtype=torch.bfloat16) if precision == 'bf16' else contextlib.nullcontext()

    def model_of(self, request):
        # A segment that begins with a rectifier in place would overwrite its checkpoint.
        inplace = request['mode'] != 'checkpoint'
        own = {'resnet50': lambda: resnet50(request['classes']), 'vgg16': lambda: vgg16(request['classes'], inplace)}
        name = request['model']
        model = own[name]() if name in own else torchvision_model(name, request['classes'])
        count = sum(parameter.numel() for parameter in model.parameters())
        if count != request['parameters']:
            raise RuntimeError(f"{request['model']} has {count} parameters here, not {request['parameters']}")
        return model.train()

    def forward(self, model, image, request):
        if request['mode'] == 'checkpoint':
            return checkpoint_sequential(model, request['segments'], image, use_reentrant=False)
        offload = torch.autograd.graph.save_on_cpu(pin_memory=self.cuda) if request['mode'] == 'offload' else contextlib.nullcontext()
        with offload:
            return model(image)

    def prepare(self, request):
        self.set_precision(request['precision'])
        # The fastest of cuDNN's algorithms, tried out in the first step, is PyTorch at its best.
        torch.backends.cudnn.benchmark = True
        if self.cuda:
            limit = request['memoryBytes']
            torch.cuda.set_per_process_memory_fraction(1.0 if limit is None else min(1.0, limit / self.total_bytes()))
            torch.cuda.reset_peak_memory_stats()
        torch.manual_seed(1)
        memory_format = torch.channels_last if request['format'] == 'channels_last' else torch.contiguous_format
        model = self.model_of(request).to(device=self.device, memory_format=memory_format)
        run = torch.compile(model) if request.get('compile') else model
        batch, size = request['batch'], request['size']
        image = torch.randn(batch, 3, size, size, device=self.device).to(memory_format=memory_format)
        pixels = () if request['model'] in ('vgg16', 'resnet50') else (size, size)
        target = torch.zeros(batch, *pixels, dtype=torch.int64, device=self.device)
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)

        def step():
            self.synchronize()
            start = time.perf_counter()
            optimizer.zero_grad(set_to_none=True)
            with self.mixed(request['precision']):
                loss = nn.functional.cross_entropy(scores_of(self.forward(run, image, request)), target)
            loss.backward()
            optimizer.step()
            self.synchronize()
            return (time.perf_counter() - start) * 1000, loss

        for _ in range(request.get('warm', 0)):
            step()
        self.step = step
        # Others measure before its steps' turn.
        self.release()
        return {'prepared': True}

    def steps(self, request):
        if self.step is None:
            raise RuntimeError('no step is prepared')
        times, loss = [], None
        for _ in range(request['steps']):
            ms, loss = self.step()
            times.append(ms)
        return {'ms': times, 'peakBytes': torch.cuda.max_memory_reserved() if self.cuda else None, 'loss': loss.item()}

    def train(self, request):
        self.prepare(request)
        try:
            return self.steps(request)
        finally:
            self.step = None

    def gradients(self, request):
        self.set_precision(request['precision'])
        torch.backends.cudnn.benchmark = False
        if self.cuda:
            torch.cuda.set_per_process_memory_fraction(1.0)
        dtype = torch.float64 if request['precision'] == 'float64' else torch.float32
        weights, batch = read_tensors(request['weights']), read_tensors(request['batch'])
        model = vgg16(CLASSES, inplace=True)
        # Layers of the features stand where torchvision has them; the one linear layer is the classifier.
        names = {}
        for place, module in enumerate(model):
            for parameter in ('weight', 'bias') if isinstance(module, (nn.Conv2d, nn.Linear)) else ():
                prefix = 'classifier' if isinstance(module, nn.Linear) else f'features.{place}'
                names[f'{prefix}.{parameter}'] = f'{place}.{parameter}'
        model.load_state_dict({ours: weights[name] for name, ours in names.items()})
        model = model.to(device=self.device, dtype=dtype)
        image = batch['input'].to(device=self.device, dtype=dtype).requires_grad_()
        with self.mixed(request['precision']):
            loss = nn.functional.cross_entropy(model(image), batch['target'].to(self.device))
        loss.backward()
        parameters = dict(model.named_parameters())
        gradients = {f'grad.{name}': parameters[ours].grad for name, ours in names.items()}
        write_tensors(request['out'], {'loss': loss, 'grad.input': image.grad, **gradients})
        return {'loss': loss.item()}

    def memory(self, _):
        if not self.cuda:
            raise RuntimeError('the cpu has no driver that counts its memory')
        free, total = torch.cuda.mem_get_info()
        return {'usedBytes': total - free}

    def release(self):
        gc.collect()
        if self.cuda:
            torch.cuda.empty_cache()

    def answer(self, request):
        try:
            kind = request['kind']
            kinds = {'memory': self.memory, 'train': self.train, 'prepare': self.prepare, 'steps': self.steps, 'gradients': self.gradients}
            return kinds[kind](request)
        except (RuntimeError, MemoryError) as error:
            text = str(error).strip()
            memory = isinstance(error, (MemoryError, torch.cuda.OutOfMemoryError)) or 'out of memory' in text
            first = text.splitlines()[0] if text else type(error).__name__
            return {'error': first, 'outOfMemory': memory, 'isLost': 'CUDA error' in text and not memory}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--device', choices=['cuda', 'cpu'], required=True)
    device = parser.parse_args().device
    if device == 'cuda' and not torch.cuda.is_available():
        sys.exit(f'PyTorch {torch.__version__} of this Python sees no GPU')
    peer = Peer(device)
    name = torch.cuda.get_device_name(0) if peer.cuda else 'cpu'
    say(ready=True, version=f'PyTorch {torch.__version__}', device=name, memoryBytes=peer.total_bytes())
    for line in sys.stdin:
        answer = peer.answer(json.loads(line))
        if answer.get('isLost'):
            say(**answer)
            return
        # Only here are the tensors of a step that failed free of its traceback.
        peer.release()
        say(**answer)


if __name__ == '__main__':
    main()
