import { isLeft } from 'fp-ts/Either'
import { conv2d, globalAvgPool, linear, maxPool2d, model, relu } from '../../dsl'
import { stage, verify, verifyRanks } from '../../staging'
import { referenceModel } from '../../staging/devices/reference-model'
import { must } from '../must'

const network = model({
  name: 'shared',
  input: [1, 3, 64, 32],
  layers: [conv2d({ out: 4, k: 3, p: 1 }), relu, conv2d({ out: 4, k: 3, p: 1 }), relu, maxPool2d({ k: 2 }), conv2d({ out: 8, k: 3, p: 1 }), relu, globalAvgPool, linear({ out: 2 })]
})
for (const count of [1, 2, 3, 4]) {
  const programs = Array.from({ length: count }, (_, index) =>
    must(
      stage({
        model: network,
        device: referenceModel('float64'),
        strategy: 'sft',
        given: {
          order: Array.from({ length: 10 }, (_, at) => at),
          segments: [
            { from: 0, to: 2, grid: { B: 1, H: 2, W: 1 }, recompute: true, reorder: 'once' },
            { from: 2, to: 5, grid: { B: 1, H: 1, W: 1 }, recompute: false, reorder: 'once' },
            { from: 5, to: 8, grid: { B: 1, H: 2, W: 2 }, recompute: true, reorder: 'once' },
            { from: 8, to: 10, grid: { B: 1, H: 1, W: 1 }, recompute: false, reorder: 'once' }
          ]
        },
        objective: { kind: 'train', optimizer: { kind: 'sgd', momentum: 0.9, weightDecay: 0 }, shard: { count, index } },
        source: { kind: 'float' }
      })
    ).program
  )
  for (const program of programs) {
    const verified = verify(program)
    console.log(count, program.shard!.index, program.peakBytes, isLeft(verified) ? verified.left.message : 'ok')
  }
  const together = verifyRanks(programs)
  console.log(isLeft(together) ? together.left.message : 'together ok')
}
