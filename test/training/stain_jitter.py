"""Golden values of stain jitter: python3 test/training/stain_jitter.py > test/training/data/stain_jitter.json

By numpy alone. The matrix is scikit-image's rgb_from_hed (skimage.color, after Ruifrok and
Johnston 2001); stains are -ln(max(rgb, 1e-6)) times its inverse, which are not clamped at zero.
"""
import json
import numpy

rgb_from_hed = numpy.array([[0.65, 0.70, 0.29], [0.07, 0.99, 0.11], [0.27, 0.57, 0.78]])
hed_from_rgb = numpy.linalg.inv(rgb_from_hed)
pixels = numpy.array(
    [[255, 255, 255], [0, 0, 0], [200, 90, 150], [90, 60, 140], [244, 236, 241], [120, 80, 40], [1, 254, 128], [17, 17, 17]]
)
cases = []
for factors, shifts in [
    ([1, 1, 1], [0, 0, 0]),
    ([1.05, 0.97, 1.02], [0.01, -0.03, 0.05]),
    ([0.8, 1.2, 1], [-0.2, 0.1, 0]),
    ([0, 1, 0.5], [0, 0, 0]),
]:
    stains = -numpy.log(numpy.maximum(pixels / 255, 1e-6)) @ hed_from_rgb
    light = numpy.exp(-(stains * factors + shifts) @ rgb_from_hed)
    cases.append({"factors": factors, "shifts": shifts, "pixels": (255 * numpy.clip(light, 0, 1)).tolist()})
print(json.dumps({"pixels": pixels.tolist(), "cases": cases}))
