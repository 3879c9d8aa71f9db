/**
 * What training needs daily, on the reference device in float64, and through the command where the
 * command adds something.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import type { Dataset } from '../../../src/datasets/dataset'
import { readDataset } from '../../../src/commands/read-dataset'
import { type TrainOptions, train } from '../../../src'
import type { Validation } from '../../../src/training/validation/best'
import { runScript } from '../command-line'
import { compiledCommand } from '../compiled-command'
import { writeImages } from '../example-images'
import { failureOf, valueOf } from '../outcome'
import smallNetwork from '../small-model'
import { temporaryFolder } from '../temporary-folder'
import { type Weights, weightsOf } from '../weights-of'

const folder = temporaryFolder()
const at = (name: string): string => join(folder, name)
let dataset: Dataset

test.before(async () => {
  await writeImages(at('images'), 4)
  dataset = await valueOf(readDataset(at('images')))
})

/** Crops as large as the images, so that nothing is drawn but the order. */
const options = (): TrainOptions => ({
  model: smallNetwork,
  input: [2, 3, 24, 40],
  device: 'reference',
  threads: 1,
  strategy: 'plain',
  data: dataset,
  lr: 0.05,
  seed: 3,
  steps: 6
})

let files = 0
const trained = async (changes: Partial<TrainOptions>): Promise<Weights> => {
  const save = at(`weights-${(files += 1)}`)
  await valueOf(train({ ...options(), ...changes, save }))
  return weightsOf(save)
}

const differences = (a: Weights, b: Weights): ReadonlyMap<string, number> =>
  new Map([...a].map(([name, values]) => [name, Math.max(...values.map((value, index) => Math.abs(value - b.get(name)![index]!)))]))

const largest = (values: ReadonlyMap<string, number>): number => Math.max(...values.values())

test('two micro-batches of two make the update of one batch of four', async () => {
  const whole = await trained({ input: [4, 3, 24, 40] })
  const parts = await trained({ accumulate: 2 })
  assert.ok(largest(differences(whole, parts)) < 1e-12)
  const { loss } = await valueOf(train({ ...options(), accumulate: 2 }))
  const { loss: expected } = await valueOf(train({ ...options(), input: [4, 3, 24, 40] }))
  assert.ok(loss.every((value, step) => Math.abs(value - expected[step]!) < 1e-12))
})

test('a budget beyond any memory is taken only as far as the plan goes', async () => {
  const { peakDeviceBytes, predictedPeakBytes } = await valueOf(
    train({ ...options(), device: 'cpu', budget: { kind: 'bytes', bytes: 2 ** 50 } })
  )
  assert.ok(peakDeviceBytes <= predictedPeakBytes)
})

test('gradients are clipped to the norm that was asked for, and their norm before is told', async () => {
  const metrics = at('clipped.jsonl')
  const changes: Partial<TrainOptions> = { momentum: 0, lr: 1, steps: 1 }
  const [before, free] = [await trained({ ...changes, lr: 1e-300 }), await trained(changes)]
  const clipped = await trained({ ...changes, clipNorm: 0.25, metrics })
  const distance = (a: Weights): number =>
    Math.sqrt([...a].reduce((sum, [name, values]) => sum + values.reduce((s, v, i) => s + (v - before.get(name)![i]!) ** 2, 0), 0))
  const { gradientNorm } = JSON.parse(readFileSync(metrics, 'utf8'))
  assert.ok(gradientNorm > 0.25 && Math.abs(gradientNorm - distance(free)) < 1e-9, `${gradientNorm}, ${distance(free)}`)
  // torch divides by the norm plus 1e-6.
  assert.ok(Math.abs(distance(clipped) - (0.25 * gradientNorm) / (gradientNorm + 1e-6)) < 1e-9)
})

test('frozen parameters stay as they are; groups have rates of their own', async () => {
  const start = await trained({ lr: 1e-300, steps: 1, freeze: ['0'] })
  const frozen = differences(start, await trained({ freeze: ['0'] }))
  assert.equal([frozen.get('0.weight'), frozen.get('0.bias')], [0, 0])
  assert.ok(frozen.get('4.weight')! > 1e-3)
  const grouped = differences(start, await trained({ paramGroup: [{ prefix: '4', rate: 1e-300 }] }))
  assert.ok(grouped.get('4.weight')! < 1e-200 && grouped.get('0.weight')! > 1e-4)
  assert.match((await failureOf(train({ ...options(), freeze: ['nowhere'] }))).message, /nowhere/)
})

test('class weights are those of a dataset in which the heavier class stands more often', async () => {
  const [light, heavy] = [dataset.examples[0]!, dataset.examples.at(-1)!]
  const of = (...examples: Dataset['examples'][number][]): Dataset => ({ ...dataset, examples })
  const weighted = await trained({ data: of(light, heavy), classWeights: [1, 3], steps: 4 })
  const repeated = await trained({ data: of(light, heavy, heavy, heavy), input: [4, 3, 24, 40], steps: 4 })
  assert.ok(largest(differences(weighted, repeated)) < 1e-12)
  const classWeights = [1, 3]
  const parts = await trained({ classWeights, accumulate: 2 })
  assert.ok(largest(differences(parts, await trained({ classWeights, input: [4, 3, 24, 40] }))) < 1e-12)
  const even = await trained({ data: of(light, heavy), classWeights: 'balanced', steps: 4 })
  assert.ok(largest(differences(even, await trained({ data: of(light, heavy), steps: 4 }))) < 1e-12)
})

test('turns and colours change what is learnt, alike each time', async () => {
  const colourJitter = { brightness: 0.3, contrast: 0.3, saturation: 0.3, hue: 0.1 }
  const plain = await trained({})
  for (const changes of [{ rotate: true }, { colourJitter }]) {
    const first = await trained(changes)
    assert.is(largest(differences(first, await trained(changes))), 0)
    assert.ok(largest(differences(first, plain)) > 1e-6)
  }
})

test('a validation is of the middle of every image, the last batch filled up; the best weights are kept', async () => {
  const validations: Validation[] = []
  const [best, save] = [at('best'), at('last')]
  const changes: Partial<TrainOptions> = { validation: 0.25, validateEvery: 2, steps: 7, lr: 0.4, best, save }
  const report = await valueOf(train({ ...options(), ...changes, onValidation: (validation) => validations.push(validation) }))
  assert.equal(
    validations.map(({ step }) => step),
    [2, 4, 6, 7]
  )
  assert.equal(report.validations, validations)
  const lowest = validations.reduce((least, validation) => (validation.loss < least.loss ? validation : least))
  assert.is(report.best!.step, lowest.step)
  // The best weights are those of a training that ends where the best validation was; batches of
  // three leave a half-empty one.
  const again = at('again')
  await valueOf(train({ ...options(), ...changes, best: at('unused'), save: again, steps: lowest.step }))
  assert.is(largest(differences(await weightsOf(best), await weightsOf(again))), 0)
  const whole = await valueOf(train({ ...options(), weights: again, steps: 1, lr: 1e-300, validation: dataset, input: [8, 3, 24, 40] }))
  const padded = await valueOf(train({ ...options(), weights: again, steps: 1, lr: 1e-300, validation: dataset, input: [3, 3, 24, 40] }))
  assert.ok(Math.abs(whole.validations![0]!.loss - padded.validations![0]!.loss) < 1e-12)
  // One step of all images has the loss that validation found.
  assert.ok(Math.abs(whole.loss[0]! - whole.validations![0]!.loss) < 1e-12)
  assert.is(whole.validations![0]!.accuracy, padded.validations![0]!.accuracy)
})

test('training stops after so many validations without a better one', async () => {
  const notices: string[] = []
  const changes: Partial<TrainOptions> = { validation: 0.25, validateEvery: 1, steps: 50, lr: 1e-300, earlyStop: 3 }
  const report = await valueOf(train({ ...options(), ...changes, onNotice: (sentence) => notices.push(sentence) }))
  assert.is(report.steps, 4)
  assert.equal([report.best!.step, report.best!.since], [1, 3])
  assert.match(notices.at(-1)!, /training stops after step 4: the last 3 validations brought no better loss than step 1's/)
})

test('data of one class are a warning, not an error', async () => {
  const notices: string[] = []
  const one = { ...dataset, examples: dataset.examples.slice(0, 4) }
  const report = await valueOf(
    train({ ...options(), data: one, validation: one, steps: 1, onNotice: (sentence) => notices.push(sentence) })
  )
  assert.equal(notices, [
    'all 4 training images are of class 0: nothing can be told apart',
    'all 4 validation images are of class 0: there is no AUC'
  ])
  assert.is(report.validations![0]!.auc, null)
  // By what is never measured, the first validation would stay the best.
  const { code, message } = await failureOf(train({ ...options(), validation: one, bestBy: 'auc', earlyStop: 2 }))
  assert.is(code, 'input')
  assert.is(message, '--best-by auc cannot be measured, since all 4 validation images are of class 0: add others, or take loss or accuracy')
})

test('the command has it all, plan and bench know what changes bytes', async () => {
  const { script, model } = compiledCommand()
  const run = async (...args: readonly string[]) => {
    const { status, stdout, stderr } = await runScript([script, ...args, '--threads', '1', '--json'])
    assert.is(status, 0, stderr)
    return JSON.parse(stdout)
  }
  const update = ['--accumulate', '2', '--clip-norm', '1', '--freeze', '0', '--optimizer', 'adam']
  const plain = await run('plan', model, '--optimizer', 'adam')
  const plan = await run('plan', model, ...update)
  const bench = await run('bench', model, ...update, '--steps', '2')
  assert.is(bench.predictedPeakBytes, plan.peakDeviceBytes)
  assert.is.not(plan.peakDeviceBytes, plain.peakDeviceBytes)
  mkdirSync(at('more'), { recursive: true })
  writeFileSync(at('more/validation.csv'), `${dataset.examples[0]!.path},0\n${dataset.examples.at(-1)!.path},1\n`)
  const files = ['--best', at('more/best'), '--metrics', at('more/metrics.jsonl'), '--state', at('more/state')]
  const report = await run(
    ...['train', model, '--data', at('images'), '--epochs', '3', '--validation', at('more/validation.csv'), '--best-by', 'auc'],
    ...['--early-stop', '9', '--class-weights', 'balanced', '--flip', '--rotate', '--colour-jitter', '0.1,0.1,0.1,0.02', '--warmup', '2'],
    ...['--schedule', 'cosine', '--param-group', '5.bias:rate=2,decay=0', ...update, ...files]
  )
  // Eight images, four an update.
  assert.is(report.steps, 6)
  assert.equal(
    report.validations.map(({ step }: Validation) => step),
    [2, 4, 6]
  )
  assert.is(report.predictedPeakBytes, plan.peakDeviceBytes)
  const lines = readFileSync(at('more/metrics.jsonl'), 'utf8').trimEnd().split('\n')
  assert.equal(
    lines.map((line) => JSON.parse(line).step),
    [1, 2, 2, 3, 4, 4, 5, 6, 6]
  )
  const { learningRate, gradientNorm } = JSON.parse(lines[0]!)
  assert.is(learningRate, 0.0005)
  assert.ok(gradientNorm > 0)
})

test.run()
