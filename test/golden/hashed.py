"""The counterpart of hashed.ts: numbers for networks of many millions of weights, and sketches of their gradients."""

import numpy as np

BUCKETS = 512


def mixed(h):
    """The finaliser of MurmurHash3 (Appleby, 2011) of an array of uint32."""
    h = (h ^ (h >> np.uint32(16))) * np.uint32(0x85EBCA6B)
    h = (h ^ (h >> np.uint32(13))) * np.uint32(0xC2B2AE35)
    return h ^ (h >> np.uint32(16))


def hashes(name, count):
    """uint32 number i of a name: mixed(key + i golden), key the name's FNV-1a hash."""
    key = 0x811C9DC5
    for byte in name.encode():
        key = ((key ^ byte) * 0x01000193) & 0xFFFFFFFF
    return mixed(np.uint32(key) + np.arange(count, dtype=np.uint32) * np.uint32(0x9E3779B9))


def uniform(name, shape, deviation):
    """Float32 numbers of mean 0 and this deviation."""
    values = (hashes(name, int(np.prod(shape))).astype(np.float64) * 2.0**-32 - 0.5) * (12**0.5 * deviation)
    return values.astype(np.float32).reshape(shape)


def sketch(tensors):
    """
    Tensors by name as one vector of 512 float64 (the count sketch of Charikar, Chen and Farach-Colton, 2002): each element is added to, or
    subtracted from, a bucket, both as its hash says. It is linear, and the norm of a sketch is that of the tensors within some percent.
    """
    total = np.zeros(BUCKETS)
    for name, values in tensors.items():
        flat = values.reshape(-1)
        h = hashes(f'sketch/{name}', len(flat))
        total += np.bincount(h % BUCKETS, np.where(h & BUCKETS, -flat, flat), BUCKETS)
    return total
