/** Numbers that are not finite end a command with code loss, before anything is written. */
import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { conv2d, model, relu } from '../../../dsl'
import { type TensorData, gradients, predict, train, writeTensorFile } from '../../../src'
import { runScript } from '../command-line'
import { compiledCommand } from '../compiled-command'
import { writeImages, writeMasks } from '../example-images'
import { failureOf, valueOf } from '../outcome'
import smallNetwork from '../small-model'
import { temporaryFolder } from '../temporary-folder'

const folder = temporaryFolder()
const at = (name: string): string => join(folder, name)
const { script, smallModel } = compiledCommand()

/** Parameters 0.weight [2, 3, 1, 1], 0.bias [2]. */
const pixels = model({ name: 'pixels', layers: [conv2d({ out: 2, k: 1 })] })

const filled = (name: string, shape: readonly number[], value = 0, type: 'F32' | 'F64' = 'F32'): TensorData => {
  const data = new (type === 'F32' ? Float32Array : Float64Array)(shape.reduce((product, extent) => product * extent, 1)).fill(0.1)
  data[data.length - 1] = value
  return { name, type, shape, data }
}

const small = (value: number, type?: 'F64'): readonly TensorData[] => [
  filled('0.weight', [4, 3, 3, 3]),
  filled('0.bias', [4], value, type),
  filled('4.weight', [2, 4]),
  filled('4.bias', [2])
]

test.before(async () => {
  await writeImages(at('images'))
  await writeMasks(folder)
})

for (const [name, value] of [
  ['NaN', NaN],
  ['Infinity', Infinity],
  ['-Infinity', -Infinity]
] as const)
  test(`weights that hold ${name} are refused, though a rectifier would hide them`, async () => {
    await valueOf(writeTensorFile(at('weights'), small(value)))
    await valueOf(writeTensorFile(at('pixel-weights'), [filled('0.weight', [2, 3, 1, 1]), filled('0.bias', [2], value)]))
    const sentence = (file: string): string =>
      `${at(file)}: 0.bias holds ${name}, which is not finite: take weights from before their training diverged`
    const image = at('tissue.png')
    await valueOf(
      writeTensorFile(at('batch'), [
        filled('input', [1, 3, 16, 16]),
        { name: 'target', type: 'I64', shape: [1], data: BigInt64Array.of(0n) }
      ])
    )
    for (const [file, run] of [
      ['weights', predict({ model: smallNetwork, weights: at('weights'), image })],
      ['pixel-weights', predict({ model: pixels, weights: at('pixel-weights'), image, out: at('classes.png') })],
      ['weights', gradients({ model: smallNetwork, weights: at('weights'), batch: at('batch'), out: at('gradients') })],
      ['weights', train({ model: smallNetwork, data: at('images'), weights: at('weights'), steps: 1, save: at('saved') })]
    ] as const) {
      const failure = await failureOf(run)
      assert.equal([failure.code, failure.message], ['loss', sentence(file)])
    }
    for (const output of ['classes.png', 'gradients', 'saved']) assert.not(existsSync(at(output)))
  })

test('finite weights whose scores overflow: no class and no mask', async () => {
  const image = at('tissue.png')
  const large = (name: string, shape: readonly number[]): TensorData => {
    const tensor = filled(name, shape)
    ;(tensor.data as Float32Array).fill(3e38)
    return tensor
  }
  await valueOf(writeTensorFile(at('pixel-weights'), [large('0.weight', [2, 3, 1, 1]), large('0.bias', [2])]))
  const pixelFailure = await failureOf(predict({ model: pixels, weights: at('pixel-weights'), image, out: at('classes.png') }))
  assert.is(pixelFailure.code, 'loss')
  assert.match(
    pixelFailure.message,
    /^\S*tissue\.png: \d+ of 12288 pixels have scores that are not finite: look at the weights, or compute in float32$/
  )
  assert.not(existsSync(at('classes.png')))
  const scores = model({ ...smallNetwork, name: 'large' })
  await valueOf(
    writeTensorFile(
      at('weights'),
      small(0).map(({ name, shape }) => large(name, shape))
    )
  )
  const failure = await failureOf(predict({ model: scores, weights: at('weights'), image }))
  assert.is(failure.code, 'loss')
  assert.match(
    failure.message,
    /^\S*tissue\.png: the score of class \d is (Infinity|-Infinity|NaN), which is not finite: look at the weights/
  )
})

test('an update that makes weights infinite ends the training, though its loss was finite: nothing is saved over what is there', async () => {
  const images = { model: smallNetwork, data: at('images'), input: [2, 3, 16, 16], lr: 3e38, weightDecay: 10 } as const
  /** safetensors of nothing. */
  const asItWas = `\x02${'\0'.repeat(7)}{}`
  for (const [steps, more] of [
    [1, { save: at('kept') }],
    [1, { state: at('diverged-1') }],
    [1, { validation: 0.5, best: at('kept') }],
    [1, { validation: 0.5, save: at('kept'), state: at('diverged-2') }],
    [9, { state: at('diverged-3'), stateEvery: 1 }]
  ] as const) {
    writeFileSync(at('kept'), asItWas)
    const failure = await failureOf(train({ ...images, ...more, steps }))
    assert.is(failure.code, 'loss', failure.message)
    assert.is(readFileSync(at('kept'), 'latin1'), asItWas)
    if ('state' in more) assert.equal(readdirSync(more.state), [])
    else if (!('validation' in more))
      assert.match(failure.message, /^the weights after step 1: \d\.\w+ holds (-?Infinity|NaN), which is not finite: lower --lr, or start/)
  }
})

test('the command ends with exit status 4, and a mask that is there stays', async () => {
  await valueOf(writeTensorFile(at('weights'), small(NaN)))
  const { status, stdout, stderr } = await runScript([
    ...[script, 'predict', smallModel, '--weights', at('weights'), '--image', at('tissue.png'), '--json']
  ])
  assert.is(status, 4, stderr)
  assert.is(JSON.parse(stdout).error.code, 'loss')
  assert.match(stderr, /0\.bias holds NaN, which is not finite: .*\.\n$/)
})

test('a value of float64 that float32 cannot hold is refused by name', async () => {
  await valueOf(writeTensorFile(at('weights'), small(1e300, 'F64')))
  const { code, message } = await failureOf(predict({ model: smallNetwork, weights: at('weights'), image: at('tissue.png') }))
  assert.is(code, 'input')
  assert.match(message, /weights: 0\.bias holds 1e\+300, which is beyond float32$/)
  const { scores } = await valueOf(
    predict({ model: smallNetwork, weights: at('weights'), image: at('tissue.png'), device: 'reference', precision: 'float64' })
  )
  assert.ok(scores?.every(Number.isFinite))
})

test('a mask holds 255 classes at most, for 255 is none', async () => {
  await valueOf(writeTensorFile(at('wide'), small(1)))
  for (const classes of [256, 300]) {
    const wide = model({ name: 'wide', layers: [conv2d({ out: classes, k: 1 }), relu] })
    const asked = { model: wide, weights: at('wide'), image: at('tissue.png'), out: at('classes.png') } as const
    // No kernel that is measured first is asked for so many.
    const { message } = await failureOf(predict({ ...asked, measure: 'sample' }))
    assert.is(
      message,
      `wide tells ${classes} classes apart, but a mask holds 255 at most: 255 is no class; of a built-in model give --classes, as it was trained`
    )
  }
})

test.run()
