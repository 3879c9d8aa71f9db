"""Golden values of losses: python3 test/golden/losses.py > test/golden/data/losses.json

Scores of random numbers, their loss and its gradient in float64, by PyTorch 2.x; Dice, Tversky and
focal are written here as their papers have them, and differentiated by PyTorch.
"""

import json
import sys

import torch
import torch.nn.functional as F

torch.manual_seed(7)
torch.set_default_dtype(torch.float64)
ignored = 255


def one_hot(labels, classes):
    if classes == 1:
        return (labels == 1).double().unsqueeze(1)
    hot = F.one_hot(labels.clamp(max=classes - 1), classes).double()
    return hot.movedim(-1, 1)


def cross_entropy(scores, labels, weights=None, smoothing=0.0):
    return F.cross_entropy(scores, labels, weight=weights, label_smoothing=smoothing, ignore_index=ignored)


def focal(scores, labels, weights=None, gamma=2.0):
    log_p = F.log_softmax(scores, 1)
    counted = labels != ignored
    of_class = log_p.gather(1, labels.where(counted, torch.zeros_like(labels)).unsqueeze(1)).squeeze(1)
    weight = torch.ones_like(of_class) if weights is None else weights[labels.where(counted, torch.zeros_like(labels))]
    weight = weight * counted
    return -(weight * (1 - of_class.exp()) ** gamma * of_class).sum() / weight.sum()


def each_channel(loss, scores, labels, weights=None):
    """The mean of a loss of single channels over the pixels that count."""
    classes = scores.shape[1]
    target = one_hot(labels, classes)
    counted = (labels != ignored).unsqueeze(1)
    share = torch.ones(classes) if weights is None else weights
    share = share.reshape(1, -1, *([1] * (scores.dim() - 2))) * counted
    return (loss(scores, target) * share).sum() / share.sum()


def binary(scores, labels, weights=None, smoothing=0.0):
    def loss(x, t):
        return F.binary_cross_entropy_with_logits(x, t * (1 - smoothing) + smoothing / 2, reduction='none')

    return each_channel(loss, scores, labels, weights)


def sigmoid_focal(x, t, gamma, alpha):
    """As torchvision.ops.sigmoid_focal_loss."""
    p = torch.sigmoid(x)
    p_t = p * t + (1 - p) * (1 - t)
    loss = F.binary_cross_entropy_with_logits(x, t, reduction='none') * (1 - p_t) ** gamma
    return loss if alpha < 0 else (alpha * t + (1 - alpha) * (1 - t)) * loss


def tversky(p, labels, alpha, beta, smooth, weights=None):
    classes = p.shape[1]
    counted = (labels != ignored).unsqueeze(1)
    t = one_hot(labels, classes) * counted
    p = p * counted
    both = (p * t).sum((2, 3))
    index = (both + smooth) / (both + alpha * (p * (1 - t)).sum((2, 3)) + beta * ((1 - p) * t).sum((2, 3)) + smooth)
    weights = torch.ones(classes) if weights is None else weights
    return ((1 - index) * weights).sum(1).mean() / weights.sum()


def dice(p, labels, smooth=1.0, weights=None):
    classes = p.shape[1]
    counted = (labels != ignored).unsqueeze(1)
    t = one_hot(labels, classes) * counted
    p = p * counted
    index = (2 * (p * t).sum((2, 3)) + smooth) / (p.sum((2, 3)) + t.sum((2, 3)) + smooth)
    weights = torch.ones(classes) if weights is None else weights
    return ((1 - index) * weights).sum(1).mean() / weights.sum()


def softmax(scores):
    return F.softmax(scores, 1)


cases = []


def case(op, formula, shape, loss, target, **options):
    scores = (torch.randn(shape) * 2).requires_grad_()
    value = loss(scores, target, *([] if 'classWeights' not in options else [torch.tensor(options['classWeights'])]))
    value.backward()
    cases.append(
        {
            'op': op,
            'args': {'loss': formula, **options},
            'input': list(shape),
            'scores': scores.flatten().tolist(),
            'target': [None if value != value else value for value in target.double().flatten().tolist()],
            'loss': value.item(),
            'gradient': scores.grad.flatten().tolist(),
        }
    )


def labels_of(shape, classes, ignore=True):
    labels = torch.randint(0, classes, shape)
    return labels.where(torch.rand(shape) > 0.2, torch.full(shape, ignored)) if ignore else labels


rows = (5, 4)
row_labels = labels_of((5,), 4, ignore=False)
case('classLoss', 'cross-entropy:smoothing=0.1', rows, lambda s, t: cross_entropy(s, t, None, 0.1), row_labels)
case('classLoss', 'focal:gamma=1.5', rows, lambda s, t: focal(s, t, None, 1.5), row_labels)
case('classLoss', '0.5*cross-entropy+focal', rows, lambda s, t: 0.5 * cross_entropy(s, t) + focal(s, t), row_labels)
case('classLoss', 'cross-entropy:smoothing=0.2', rows, lambda s, t, w: cross_entropy(s, t, w, 0.2), row_labels, classWeights=[1.0, 0.5, 2.0, 3.0])

pixels, weights = (2, 3, 5, 6), [1.0, 0.25, 2.0]
pixel_labels = labels_of((2, 5, 6), 3)
single, of_single = (2, 1, 5, 6), labels_of((2, 5, 6), 2)
case('pixelLoss', 'cross-entropy:smoothing=0.1', pixels, lambda s, t: cross_entropy(s, t, None, 0.1), pixel_labels)
case('pixelLoss', 'focal:gamma=2', pixels, lambda s, t, w: focal(s, t, w), pixel_labels, classWeights=weights)
case('pixelLoss', 'binary-cross-entropy', single, binary, of_single)
case('pixelLoss', 'binary-cross-entropy:smoothing=0.1', pixels, lambda s, t, w: binary(s, t, w, 0.1), pixel_labels, classWeights=weights)
case('pixelLoss', 'binary-focal:gamma=2,alpha=0.25', single, lambda s, t: each_channel(lambda x, y: sigmoid_focal(x, y, 2, 0.25), s, t), of_single)
case('pixelLoss', 'binary-focal:gamma=0.5,alpha=-1', pixels, lambda s, t: each_channel(lambda x, y: sigmoid_focal(x, y, 0.5, -1), s, t), pixel_labels)

case('overlapLoss', 'dice', pixels, lambda s, t: dice(softmax(s), t), pixel_labels)
case('overlapLoss', 'dice:smooth=1e-5', single, lambda s, t: dice(torch.sigmoid(s), t, 1e-5), of_single)
case('overlapLoss', 'dice', pixels, lambda s, t, w: dice(softmax(s), t, 1.0, w), pixel_labels, classWeights=weights)
case('overlapLoss', 'tversky:alpha=0.2,beta=0.8,smooth=0.5', pixels, lambda s, t: tversky(softmax(s), t, 0.2, 0.8, 0.5), pixel_labels)
case('overlapLoss', 'dice+0.5*cross-entropy', pixels, lambda s, t: dice(softmax(s), t) + 0.5 * cross_entropy(s, t), pixel_labels)
case('overlapLoss', '2*dice+binary-cross-entropy', pixels, lambda s, t: 2 * dice(torch.sigmoid(s), t) + binary(s, t), pixel_labels)
case('overlapLoss', 'tversky+0.1*focal:gamma=3', pixels, lambda s, t, w: tversky(softmax(s), t, 0.3, 0.7, 1.0, w) + 0.1 * focal(s, t, w, 3.0), pixel_labels, classWeights=weights)

several = (torch.rand(rows) > 0.5).double()
case('valueLoss', 'binary-cross-entropy', rows, F.binary_cross_entropy_with_logits, several)
case('valueLoss', 'binary-focal', rows, lambda s, t: sigmoid_focal(s, t, 2, 0.25).mean(), several)
wanted = torch.randn(pixels)
case('valueLoss', 'mean-squared-error', pixels, F.mse_loss, wanted)
case('valueLoss', 'mean-absolute-error', rows, F.l1_loss, torch.randn(rows))
case('valueLoss', 'huber:delta=0.7', pixels, lambda s, t: F.huber_loss(s, t, delta=0.7), wanted)
case('valueLoss', 'mean-squared-error+2*huber', pixels, lambda s, t: F.mse_loss(s, t) + 2 * F.huber_loss(s, t), wanted)
some = wanted.where(torch.rand(pixels) > 0.3, torch.full(pixels, float('nan')))
case('valueLoss', 'huber', pixels, lambda s, t: F.huber_loss(s[t == t], t[t == t]), some)

json.dump({'torch': torch.__version__, 'cases': cases}, sys.stdout)
