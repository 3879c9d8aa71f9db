// Made by `tilefold plan`. Edit it: the compiler, and every command that takes it, say what does not fit.
import { planFor } from 'tilefold/dsl'
import model from './net'

export default planFor(model)({
  model: 'net',
  input: [1, 3, 64, 64],
  layers: [
    'conv2d 8 k3 p1', // 0 0
    'relu', // 1 1
    'conv2d 8 k3 p1', // 2 2
    'relu', // 3 3
    'conv2d 8 k3 p1', // 4 4
    'relu', // 5 5
    'maxPool2d k2', // 6 6
    'conv2d 8 k3 p1', // 7 7
    'relu', // 8 8
    'conv2d 8 k3 p1', // 9 9
    'relu', // 10 10
    'conv2d 8 k3 p1', // 11 11
    'relu', // 12 12
    'globalAvgPool', // 13 13
    'linear 2', // 14 14
    'softmaxCrossEntropy' // 15 loss
  ],
  order: [0, 1, 2, 3, 4, 6, 5, 7, 8, 9, 10, 11, 12, 13, 14, 15],
  strategy: 'sft-offload',
  device: { name: 'reference', precision: 'float32', threads: 1 },
  objective: 'train with sgd',
  graph: 'fffd41dbf10edff983fee28d846c6d8932159618a457ed0eeef94738b379c19c',
  budget: 200150,
  peak: 198176,
  segments: [
    { from: 0, to: 2, checkpoint: '1', grid: { B: 1, H: 4, W: 1 }, recompute: true, reorder: 'once', loadsAhead: true, repeats: true, streams: ['1'] },
    { from: 2, to: 4, checkpoint: '3', grid: { B: 1, H: 8, W: 1 }, recompute: true, reorder: 'once', loadsAhead: true, streams: ['3'] },
    { from: 4, to: 7, checkpoint: '5', grid: { B: 1, H: 2, W: 1 }, recompute: true, reorder: 'once', streams: ['5'] },
    { from: 7, to: 16, checkpoint: 'loss', grid: { B: 1, H: 1, W: 1 }, recompute: false, reorder: 'once' }
  ],
  predicted: { peakHostBytes: 393216, plainPeakBytes: 667168, stepMilliseconds: 28.4949, lowerBoundMilliseconds: 21.6437, haloOverhead: 0 }
})
