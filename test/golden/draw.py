"""The streams of src/numbers/random.ts in NumPy, and the weights and images that the networks' goldens draw from them."""

import hashlib
import math

import numpy as np

WORD = (1 << 64) - 1
GAMMA = 0x9E3779B97F4A7C15


def fnv1a(text):
    value = 0xCBF29CE484222325
    for byte in text.encode():
        value = ((value ^ byte) * 0x100000001B3) & WORD
    return value


def mixed(state):
    """splitmix64's finaliser of an array of uint64."""
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state ^ (state >> np.uint64(31))


def uniform(seed, name, count):
    key = mixed(np.array([(seed + GAMMA) & WORD], np.uint64)) ^ np.uint64(fnv1a(name))
    bits = mixed(key + np.arange(1, count + 1, dtype=np.uint64) * np.uint64(GAMMA))
    return (bits >> np.uint64(11)).astype(np.float64) * 2.0**-53


def normal(seed, name, count, deviation):
    """Box and Muller (1958) on pairs of uniforms, in float64; rounded to float32 at the end."""
    pairs = uniform(seed, name, count + count % 2).reshape(-1, 2)
    radius = deviation * np.sqrt(-2 * np.log(1 - pairs[:, 0]))
    angle = 2 * math.pi * pairs[:, 1]
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], 1).reshape(-1)[:count].astype(np.float32)


def image(seed, shape):
    return normal(seed, 'input', math.prod(shape), 1.0).reshape(shape)


def parameter(seed, name, shape):
    """As src/weights/initialise.ts: convolutions He et al. (2015) by fan out, linear layers of deviation 0.01, biases zero."""
    if len(shape) == 1:
        return np.zeros(shape, np.float32)
    deviation = math.sqrt(2 / (shape[0] * shape[2] * shape[3])) if len(shape) == 4 else 0.01
    return normal(seed, name, math.prod(shape), deviation).reshape(shape)


def spread(seed, name, shape):
    """Parameters and buffers none of which is the identity: what a gradient must not leave out."""
    count = math.prod(shape)
    if name.endswith('.running_var'):
        return (0.5 + uniform(seed, name, count)).astype(np.float32)
    if len(shape) > 1:
        return normal(seed, name, count, math.prod(shape[1:]) ** -0.5).reshape(shape)
    around = 1.0 if name.endswith('.weight') else 0.0
    return (around + normal(seed, name, count, 0.3).astype(np.float64)).astype(np.float32)


def labels(seed, prefix, shape, classes, ignored=None):
    """Classes; of pixels a fifth is `ignored`."""
    count = math.prod(shape)
    drawn = np.floor(uniform(seed, f'{prefix}target', count) * classes).astype(np.int64)
    if ignored is not None:
        drawn[uniform(seed, f'{prefix}ignored', count) < 0.2] = ignored
    return drawn.reshape(shape)


def sha256(values):
    return hashlib.sha256(np.ascontiguousarray(values).tobytes()).hexdigest()
