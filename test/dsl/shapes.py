"""Writes shapes.json: what PyTorch answers for random options (output height and width, or null where it refuses).

Run as `python3 shapes.py > shapes.json` with PyTorch 2.x.
"""
import json
import random

import torch
import torch.nn.functional as F

random.seed(7)


def pair(least, most):
    return [random.randint(least, most), random.randint(least, most)]


def case():
    op = random.choice(["conv2d", "maxPool2d", "avgPool2d"])
    size, k, s, d = pair(1, 12), pair(1, 5), pair(1, 5), pair(1, 3)
    p = [random.randint(0, k[0] // 2 + 1), random.randint(0, k[1] // 2 + 1)]
    ceil = random.random() < 0.5
    x = torch.zeros(1, 1, *size)
    try:
        if op == "conv2d":
            args = {"out": 1, "k": k, "s": s, "p": p, "d": d}
            y = F.conv2d(x, torch.zeros(1, 1, *k), stride=s, padding=p, dilation=d)
        elif op == "maxPool2d":
            args = {"k": k, "s": s, "p": p, "d": d, "ceilMode": ceil}
            y = F.max_pool2d(x, k, s, p, d, ceil)
        else:
            args = {"k": k, "s": s, "p": p, "ceilMode": ceil}
            y = F.avg_pool2d(x, k, s, p, ceil)
        return {"op": op, "args": args, "size": size, "out": list(y.shape[2:])}
    except RuntimeError:
        return {"op": op, "args": args, "size": size, "out": None}


def answer(op, args, size, run):
    try:
        return {"op": op, "args": args, "size": size, "out": list(run().shape[2:])}
    except (RuntimeError, ValueError):
        return {"op": op, "args": args, "size": size, "out": None}


def transposed():
    size, k, s, d, p, added = pair(1, 6), pair(1, 4), pair(1, 3), pair(1, 3), pair(0, 3), pair(0, 2)
    x, weight = torch.zeros(1, 1, *size), torch.zeros(1, 1, *k)
    args = {"out": 1, "k": k, "s": s, "p": p, "outputPadding": added, "d": d}
    return answer("convTranspose2d", args, size, lambda: F.conv_transpose2d(x, weight, None, s, p, added, 1, d))


def resized():
    size, mode = pair(1, 40), random.choice(["bilinear", "nearest"])
    x = torch.zeros(1, 1, *size)
    if random.random() < 0.3:
        target = pair(1, 9)
        return answer("resize", {"mode": mode, "size": target}, size, lambda: F.interpolate(x, target, mode=mode))
    scale = [random.choice([0.1, 0.29, 0.5, 0.7, 1.5, 2, 3, 1 / 3]) for _ in range(2)]
    return answer("resize", {"mode": mode, "scale": scale}, size, lambda: F.interpolate(x, scale_factor=scale, mode=mode))


def adaptive():
    size, out = pair(1, 12), pair(1, 12)
    x = torch.zeros(1, 1, *size)
    return answer("adaptiveAvgPool2d", {"out": out}, size, lambda: F.adaptive_avg_pool2d(x, out))


def padded():
    size, mode = pair(1, 5), random.choice(["zeros", "reflect", "replicate"])
    top, bottom, left, right = (random.randint(0, 5) for _ in range(4))
    x, kind = torch.zeros(1, 1, *size), "constant" if mode == "zeros" else mode
    return answer("pad", {"p": [top, bottom, left, right], "mode": mode}, size, lambda: F.pad(x, (left, right, top, bottom), kind))


def unshuffled():
    size, factor = pair(1, 12), random.randint(1, 4)
    x = torch.zeros(1, 1, *size)
    return answer("pixelUnshuffle", {"factor": factor}, size, lambda: F.pixel_unshuffle(x, factor))


cases = [case() for _ in range(240)] + [make() for make in (transposed, resized) for _ in range(80)] + [adaptive() for _ in range(10)]
cases += [make() for make in (padded, unshuffled) for _ in range(30)]
print("[\n" + ",\n".join(json.dumps(one) for one in cases) + "\n]")
