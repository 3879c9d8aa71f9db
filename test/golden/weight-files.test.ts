/** Files of weights that PyTorch and safetensors wrote; weight_files.py's docstring says which. */
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { conv2d, batchNorm, globalAvgPool, linear, model, named } from '../../dsl'
import { predict, train, writeTensorFile } from '../../src'
import { openWeightFile } from '../../src/weights/open-weight-file'
import { writeColours, writeImages } from '../src/example-images'
import { failureOf, valueOf } from '../src/outcome'
import { temporaryFolder } from '../src/temporary-folder'
import { weightsOf } from '../src/weights-of'
import { goldenJson } from './files'

const data = join(__dirname, 'data', 'weights')
const folder = temporaryFolder()
const at = (name: string): string => join(folder, name)
const of = (name: string): string => join(data, name)

interface Values {
  readonly image: readonly [number, number]
  readonly scores: readonly number[]
  readonly sundry: Readonly<Record<string, { readonly shape: readonly number[]; readonly values: readonly number[] }>>
  readonly checkpoint: Readonly<Record<string, readonly number[]>>
}
const values = goldenJson<Values>('weights/values')

const elements = (shape: readonly number[]): number => shape.reduce((product, extent) => product * extent, 1)

test.before(async () => {
  await writeImages(at('images'))
  const [height, width] = values.image
  const pixels = Uint8Array.from({ length: height * width * 3 }, (_, index) => (index * 7919) % 251)
  await writeColours(at('image.png'), pixels, { height, width })
})

for (const file of ['sundry.pt', 'sundry.safetensors'])
  test(`${file}: every type and view, to the bit`, async () => {
    const { tensors, read } = await valueOf(openWeightFile(of(file)))
    assert.equal([...tensors.keys()].sort(), Object.keys(values.sundry).sort())
    for (const [name, { shape, values: expected }] of Object.entries(values.sundry)) {
      assert.equal(tensors.get(name)!.shape, shape, name)
      const target = name === 'double' ? new Float64Array(elements(shape)) : new Float32Array(elements(shape))
      await valueOf(read(name, target))
      assert.ok(
        expected.length === target.length && expected.every((value, index) => Object.is(value, target[index])),
        `${name}: ${target}`
      )
    }
    const { message } = await failureOf(read('double', new Float32Array(3)))
    assert.ok(message.endsWith(': double holds -1e+300, which is beyond float32'), message)
  })

test("torchvision's ResNet-18 in a file of torch.save gives PyTorch's scores, and so it does as safetensors", async () => {
  const common = { model: 'resnet18', classes: 5, image: at('image.png'), device: 'cpu', threads: 1, exactKernels: true } as const
  const { tensors, read } = await valueOf(openWeightFile(of('resnet18.pth')))
  const written = [...tensors].filter(([name]) => !name.endsWith('num_batches_tracked'))
  const copies = []
  for (const [name, { shape }] of written) {
    const copy = new Float32Array(elements(shape))
    await valueOf(read(name, copy))
    copies.push({ name, type: 'F32' as const, shape, data: copy })
  }
  await valueOf(writeTensorFile(at('resnet18.safetensors'), copies))
  const [torch, safetensors] = [
    await valueOf(predict({ ...common, weights: of('resnet18.pth') })),
    await valueOf(predict({ ...common, weights: at('resnet18.safetensors') }))
  ]
  assert.equal(torch.scores, safetensors.scores)
  const largest = Math.max(...values.scores.map(Math.abs))
  torch.scores!.forEach((score, index) => assert.ok(Math.abs(score - values.scores[index]!) < 1e-5 * largest, `${torch.scores}`))
})

const small = (last: number) =>
  model({
    name: 'small',
    input: [2, 3, 16, 16],
    layers: [conv2d({ out: 2, k: 1 }), batchNorm(), globalAvgPool, named('fc', linear({ out: last }))]
  })

test('a checkpoint of DataParallel: the weights are found, and what they were called is said', async () => {
  const notices: string[] = []
  const { weights } = await valueOf(
    train({
      ...{ model: small(2), data: at('images'), steps: 1, lr: 1e-300, device: 'reference', threads: 1, save: at('saved') },
      ...{ weights: of('checkpoint.pth'), newHead: true, onNotice: (said: string) => void notices.push(said) }
    })
  )
  assert.equal(
    weights!.loaded.map(({ name }) => name),
    ['0.weight', '0.bias', '1.weight', '1.bias', '1.running_mean', '1.running_var']
  )
  assert.equal(notices, [
    `${of('checkpoint.pth')}: the weights are those under state_dict; epoch, optimizer are left out`,
    `${of('checkpoint.pth')}: the names of its tensors are taken without "module.", with which they all begin`
  ])
  const saved = await weightsOf(at('saved'))
  assert.equal([...saved.get('0.weight')!], values.checkpoint['0.weight'])
})

for (const file of ['training.pth', 'training-5.pth'])
  test(`${file}: objects of Python, numpy and the trainer beside the weights are left out`, async () => {
    const { tensors, read, notices } = await valueOf(openWeightFile(of(file)))
    assert.equal([...tensors.keys()], Object.keys(values.checkpoint))
    const weight = new Float32Array(6)
    await valueOf(read('0.weight', weight))
    assert.equal([...weight], values.checkpoint['0.weight'])
    assert.equal(notices, [
      `${of(file)}: the weights are those under model; args, best, scalars, seen, by_class, classes, fixed, raw, 11 more are left out`
    ])
  })

test('a module is code, and is not run; a file from before the zip format says how to save it again', async () => {
  assert.is(
    (await failureOf(openWeightFile(of('module.pt')))).message,
    `${of('module.pt')}: holds torch.nn.modules.container.Sequential, which is code and is not run: save the weights alone, torch.save(model.state_dict(), FILE)`
  )
  assert.is(
    (await failureOf(openWeightFile(of('before-zip.pth')))).message,
    `${of('before-zip.pth')}: is in PyTorch's format from before 1.6, which is not read: save it again, torch.save(torch.load(FILE), FILE)`
  )
})

test.run()
