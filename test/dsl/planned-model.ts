import {
  batchNorm,
  checkpoint,
  conv2d,
  denseBlock,
  dropout,
  globalAvgPool,
  groupNorm,
  linear,
  maxPool2d,
  model,
  named,
  relu,
  residual,
  seq
} from '../../dsl'

/**
 * What random plans are made for: marks, names inside names, a pool after its rectifier (one that
 * starts a branch, too), blocks in blocks, and ops that stop tiles or need statistics.
 */
export const planned = model({
  name: 'planned',
  input: [2, 3, 16, 16],
  layers: [
    seq('features', [conv2d({ out: 4, k: [3, 1], p: [1, 0, 0, 2], bias: false }), relu, maxPool2d({ k: 2, ceilMode: true }), checkpoint]),
    conv2d({ out: 2, k: 1 }),
    seq('block', [
      relu,
      denseBlock([
        maxPool2d({ k: 3, s: 1, p: 1 }),
        residual([named('norm', batchNorm()), batchNorm({ frozen: true })], [denseBlock([batchNorm()]), conv2d({ out: 2, k: 1 })])
      ]),
      residual([checkpoint, groupNorm({ groups: 2 })])
    ]),
    named('head', seq([globalAvgPool, dropout({ rate: 0.5 })])),
    linear({ out: 2 })
  ]
})
