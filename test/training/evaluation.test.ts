import fc from 'fast-check'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { conv2d, dropout, globalAvgPool, linear, meanSquaredError, model, relu, type Layers } from '../../dsl'
import { referenceModel, stage, type Training } from '../../staging'
import { gradients } from '../golden/execute'
import { randomSegments } from '../staging/random-segments'
import { propertyRuns } from '../property-runs'
import { must } from '../must'
import { runSections, update, type Action } from './execute'
import { byRunningStatistics, optimizers, randomTraining } from './random-training'

const train = (rest: Partial<Training> = {}): Training => ({ kind: 'train', optimizer: optimizers[1]!, evaluate: true, ...rest })

const crossEntropies = (scores: ArrayLike<number>, classes: number): readonly (readonly number[])[] =>
  Array.from({ length: scores.length / classes }, (_, row) => {
    const own = Array.from({ length: classes }, (__, label) => scores[row * classes + label]!)
    const total = Math.log(own.reduce((sum, score) => sum + Math.exp(score), 0))
    return own.map((score) => total - score)
  })

const close = (found: number, expected: number): void =>
  assert.ok(Math.abs(found - expected) <= 1e-12 * Math.max(1, Math.abs(expected)), `${found} is not ${expected}`)

test('scores are those of a forward without dropout, in tiles or whole: a step loses against them what they say', async () => {
  await fc.assert(
    fc.asyncProperty(fc.nat({ max: 2 ** 31 - 1 }), async (seed) => {
      const { draw, execution, batches } = randomTraining(seed, { dropout: true, batchStatistics: true })
      const rows = draw(1, 3)
      const { graph, ...one } = execution(rows)
      const [batch] = batches(1, rows)
      const { op, input } = graph.nodes[graph.nodes.length - 1]!
      const scoresOf = async (decisions: object) => {
        const { scores, staged, measuredPeakBytes } = await runSections({ ...one, ...decisions }, train(), [
          { section: 'evaluate', input: batch!.input }
        ])
        assert.ok(measuredPeakBytes <= staged.program.peakBytes)
        return scores[0]!
      }
      const scores = await scoresOf({})
      for (const decisions of [{ segments: randomSegments(draw, graph) }, { strategy: 'chen' }, { strategy: 'sft' }])
        Array.from(await scoresOf(decisions), (score, index) => close(score, scores[index]!))
      const evaluated = { ...one.model, layers: byRunningStatistics(one.model.layers as Layers) }
      const lossAgainst = async (target: ArrayLike<number>) =>
        (await gradients({ ...one, model: evaluated, batch: { input: batch!.input, target } })).loss
      if (op === 'pixelCrossEntropy') {
        // The losses of one pixel, where all others are ignored, are those of its class against the
        // two that count.
        const pixel = draw(0, scores.length - 1)
        const probabilityOf = async (label: number): Promise<number> =>
          Math.exp(-(await lossAgainst(Array.from(scores, (_, at) => (at === pixel ? label : 1)))))
        const [first, last] = [await probabilityOf(0), await probabilityOf(2)]
        const probabilities = [first, 1 - first - last, last]
        assert.ok(
          probabilities[scores[pixel]!]! >= Math.max(...probabilities) - 1e-12,
          `${probabilities} are not of class ${scores[pixel]}`
        )
      } else if (op === 'meanSquaredError') assert.ok((await lossAgainst(scores)) <= 1e-24)
      else
        for (let label = 0; label < input[1]; label++) {
          const rowLosses = crossEntropies(scores, input[1]).map((row) => row[label]!)
          close(await lossAgainst(rowLosses.map(() => label)), rowLosses.reduce((sum, loss) => sum + loss, 0) / rows)
        }
    }),
    propertyRuns(100)
  )
})

test('an evaluation between steps and updates changes no bit of what is trained, and is by the weights as they are then', async () => {
  await fc.assert(
    fc.asyncProperty(fc.nat({ max: 2 ** 31 - 1 }), async (seed) => {
      const { draw, execution, batches } = randomTraining(seed, { dropout: true, batchStatistics: true })
      const { graph, ...one } = execution(2)
      const segments = randomSegments(draw, graph)
      const objective = train({ accumulate: 2, clipNorm: 0.5 })
      const steps = [...update(0.1, ...batches(2, 2)), ...update(0.1, ...batches(2, 2))]
      const { input } = batches(1, 2)[0]!
      const evaluation: Action = { section: 'evaluate', input }
      const evaluated = [...steps.flatMap((action): readonly Action[] => [evaluation, action]), evaluation]
      const [without, with_] = [
        await runSections({ ...one, segments }, objective, steps),
        await runSections({ ...one, segments }, objective, evaluated)
      ]
      assert.equal(with_.tensors, without.tensors)
      assert.equal(with_.losses, without.losses)
      // Every step moves running statistics.
      const nodes = graph.nodes.slice(0, -1)
      if (!nodes.some(({ op }) => op === 'batchNorm')) assert.equal(with_.scores[1], with_.scores[0], 'a step changed weights')
      const afresh = await runSections({ ...one, segments, weights: with_.tensors }, objective, [evaluation])
      assert.equal(afresh.scores[0], with_.scores[6], 'other weights than those that are saved')
    }),
    {
      ...propertyRuns(40),
      // Scores are classes, which training does not change.
      examples: [[1348243867]]
    }
  )
})

test('an evaluation holds no more than training does, and nothing is kept for a backward pass', () => {
  const layers = Array.from({ length: 12 }, () => [conv2d({ out: 8, k: 3, p: 1 }), relu, dropout({ rate: 0.5 })]).flat()
  const staged = (evaluate: boolean) => {
    return must(
      stage({
        model: model({ name: 'net', layers: [...layers, globalAvgPool, linear({ out: 2 }), meanSquaredError] }),
        input: [2, 8, 32, 32],
        device: referenceModel('float32'),
        strategy: 'plain',
        objective: { kind: 'train', optimizer: optimizers[0]!, ...(evaluate ? { evaluate } : {}) },
        source: { kind: 'float' }
      })
    ).program
  }
  const [training, both] = [staged(false), staged(true)]
  assert.is(both.peakBytes, training.peakBytes)
  assert.is(training.evaluate, undefined)
  const weights = both.persistentTensors.reduce((end, { offset, bytes }) => Math.max(end, offset + bytes), 0)
  const reached = both
    .evaluate!.code.flatMap((one) => (one.kind === 'launch' ? one.operands : []))
    .map(({ space, base }) => (space === 'arena' ? base : 0))
  const activation = 4 * 2 * 8 * 32 * 32
  // Two tensors at a time: no third begins above them.
  assert.ok(Math.max(...reached) <= weights + 2 * activation)
  assert.ok(both.peakBytes >= weights + 12 * activation)
})

test.run()
