import fc from 'fast-check'
import { isLeft } from 'fp-ts/Either'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { referenceModel, stage, type Training } from '../../staging'
import { gradients, type Tensors } from '../golden/execute'
import { assertTensorsClose } from '../properties/random-execution'
import { randomSegments } from '../staging/random-segments'
import { propertyRuns } from '../property-runs'
import { runSections, update, type Batch } from './execute'
import { randomTraining } from './random-training'

const descent: Training = { kind: 'train', optimizer: { kind: 'sgd', momentum: 0, weightDecay: 0 }, rowWeights: true }

/** Rows of a batch as batches of their own. */
const rowsOf = ({ input, target }: Batch): readonly Batch[] => {
  const size = input.length / target.length
  return Array.from(target, (label, row) => ({ input: Array.from(input).slice(row * size, (row + 1) * size), target: [label] }))
}

test('weighted rows: loss and gradients are the weighted mean of torch.nn.CrossEntropyLoss(weight), over micro-batches, in tiles or whole', async () => {
  let compared = 0
  await fc.assert(
    fc.asyncProperty(fc.nat({ max: 2 ** 31 - 1 }), async (seed) => {
      const { draw, execution, batches } = randomTraining(seed)
      const { graph, ...three } = execution(3)
      const loss = graph.nodes[graph.nodes.length - 1]!
      fc.pre(loss.op === 'softmaxCrossEntropy')
      compared += 1
      const classWeights = Array.from({ length: loss.input[1] }, () => draw(1, 40) / 10)
      const parts = batches(2, 3)
      const weightOf = (label: number): number => classWeights[label]!
      const total = parts.flatMap(({ target }) => Array.from(target)).reduce((sum, label) => sum + weightOf(label), 0)

      const { graph: _one, ...single } = execution(1)
      let expectedLoss = 0
      const expected = new Map([...three.weights].map(([name, values]) => [name, Float64Array.from(values)]))
      for (const batch of parts.flatMap(rowsOf)) {
        const row = await gradients({ ...single, batch })
        const share = weightOf(batch.target[0]!) / total
        expectedLoss += share * row.loss
        for (const [name, values] of expected) {
          const gradient = row.tensors.get(`grad.${name}`)
          if (gradient === undefined) continue
          values.forEach((value, index) => (values[index] = value - share * gradient[index]!))
        }
      }

      const weighted = parts.map((batch) => ({ ...batch, rowWeights: Array.from(batch.target, (label) => (weightOf(label) * 6) / total) }))
      for (const decisions of [{}, { segments: randomSegments(draw, graph) }]) {
        const found = await runSections({ ...three, ...decisions }, { ...descent, accumulate: 2 }, update(1, ...weighted))
        assertTensorsClose(found.tensors, expected as Tensors, 1e-12)
        const sum = found.losses.reduce((all, part) => all + part, 0)
        assert.ok(Math.abs(sum - expectedLoss) <= 1e-12 * Math.max(1, expectedLoss), `the loss is ${sum}, not ${expectedLoss}`)
      }
    }),
    propertyRuns(60)
  )
  assert.ok(compared > 0)
})

test('rows of another loss have no weights', () => {
  const seed = Array.from({ length: 20 }, (_, one) => one).find(
    (one) => randomTraining(one).execution(1).graph.nodes.at(-1)!.op === 'meanSquaredError'
  )!
  const { model, input } = randomTraining(seed).execution(1)
  const refused = stage({
    model,
    input: input!,
    device: referenceModel('float64'),
    strategy: 'plain',
    objective: descent,
    source: { kind: 'float' }
  })
  assert.ok(isLeft(refused))
  if (isLeft(refused))
    assert.equal(refused.left, {
      code: 'input',
      message: 'random: rows are not weighted in the loss meanSquaredError; leave out the weights.'
    })
})

test.run()
