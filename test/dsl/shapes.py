"""Writes shapes.json: what PyTorch answers for random windows (output height and width, or null where it refuses).

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


print("[\n" + ",\n".join(json.dumps(case()) for _ in range(240)) + "\n]")
