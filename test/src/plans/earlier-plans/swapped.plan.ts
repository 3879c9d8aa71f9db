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
  order: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
  strategy: 'lms',
  device: { name: 'reference', precision: 'float32', threads: 1 },
  objective: 'train with sgd',
  graph: 'fffd41dbf10edff983fee28d846c6d8932159618a457ed0eeef94738b379c19c',
  budget: 633809,
  peak: 589824,
  segments: [
    { from: 0, to: 16, checkpoint: 'loss', grid: { B: 1, H: 1, W: 1 }, recompute: false, reorder: 'once' }
  ],
  residence: [
    { tensor: 'input of 0', swapOut: 'forward 2', freed: 'forward 2', swapIn: 'backward 1' },
    { tensor: 'output of 1', swapOut: 'forward 2', freed: 'forward 4', swapIn: 'backward 3' },
    { tensor: 'output of 3', swapOut: 'forward 4', freed: 'forward 6', swapIn: 'backward 5' },
    { tensor: 'output of 5', swapOut: 'forward 6', freed: 'forward 7', swapIn: 'backward 6' },
    { tensor: 'winners of 6', swapOut: 'forward 7', freed: 'forward 7', swapIn: 'backward 7' }
  ],
  placement: { allocator: 'virtual', chunkBytes: 65536 },
  predicted: { peakHostBytes: 475136, plainPeakBytes: 667168, stepMilliseconds: 22.015, lowerBoundMilliseconds: 21.6437, haloOverhead: 0 }
})
