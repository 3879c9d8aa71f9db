import fc from 'fast-check'
import { isRight } from 'fp-ts/Either'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { buildGraph, referenceModel, stage } from '../../staging'
import { propertyRuns } from '../property-runs'
import { launches } from './edit-program'
import { drawsOf, netKind, randomNet } from './random-nets'
import { randomSegments } from './random-segments'

/** Bytes of which cuDNN's tensors begin at multiples. */
const vector = 16

test('whatever the tiles, convolutions read and write tensors that begin at multiples of 16 bytes', () => {
  fc.assert(
    fc.property(fc.nat({ max: 2 ** 31 - 1 }), (seed) => {
      const draw = drawsOf(seed)
      const { model, input } = randomNet(draw, netKind(seed))
      const graph = buildGraph(model, input)
      if (!isRight(graph)) throw new Error(graph.left.message)
      const staged = stage({
        ...{ model, input, device: referenceModel('float32'), objective: { kind: 'gradients' }, source: { kind: 'float' } },
        ...{ strategy: 'plain', given: { order: graph.right.nodes.map((_, index) => index), segments: randomSegments(draw, graph.right) } }
      })
      if (!isRight(staged)) throw new Error(staged.left.message)
      for (const { kernel, launch } of launches(staged.right.program))
        if (kernel.kind.startsWith('convolution'))
          for (const { base, strides } of launch.operands)
            assert.ok(
              [base, ...strides].every((bytes) => bytes % vector === 0),
              `${kernel.kind} at ${base} + ${strides.join(', ')}`
            )
    }),
    propertyRuns(100)
  )
})

test.run()
