/** A Program in text: what it says of buffers, loops, kernels and swaps. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { conv2d, globalAvgPool, linear, maxPool2d, model, relu, softmaxCrossEntropy } from '../../dsl'
import { printProgram, referenceModel, stage, type StageRequest } from '../../staging'
import { must } from '../must'

const layers = [conv2d({ out: 2, k: 3, p: 1 }), relu, maxPool2d({ k: 2 }), globalAvgPool, linear({ out: 2 }), softmaxCrossEntropy]

const request: StageRequest = {
  model: model({ name: 'net', layers }),
  input: [1, 3, 8, 8],
  device: referenceModel('float32'),
  strategy: 'plain',
  objective: { kind: 'train', optimizer: { kind: 'sgd', momentum: 0, weightDecay: 0 } },
  source: { kind: 'image', mean: [0, 0, 0], deviation: [1, 1, 1] }
}

const whole = { grid: { B: 1, H: 1, W: 1 }, recompute: false, reorder: 'once' } as const

const textOf = (given: NonNullable<StageRequest['given']>): string => printProgram(must(stage({ ...request, given })).program)

const order = [0, 1, 2, 3, 4, 5]

test('every buffer, section and launch stands there, with its operands by buffer and address', () => {
  const staged = must(stage({ ...request, given: { order, segments: [{ from: 0, to: 6, ...whole }] } }))
  const lines = printProgram(staged.program).split('\n')
  for (const { name, bytes, offset, role } of staged.program.buffers)
    assert.ok(lines.includes(`  ${name}: ${bytes} bytes @ ${offset}, ${role}`), name)
  for (const section of ['step', 'restore', 'save'])
    assert.ok(
      lines.some((line) => line.startsWith(`${section}: takes and gives `)),
      section
    )
  const convolution = lines.findIndex((line) => line.startsWith('  convolutionForward '))
  assert.match(lines[convolution]!, /sourceLayout=plain .*inHeight=8 /)
  const weights = staged.program.persistentTensors.find(({ name }) => name === '0.weight')!
  assert.ok(lines[convolution + 2]!.endsWith(`weights     read: 0.weight @ ${weights.offset}`), lines[convolution + 2])
})

test('what a loop runs stands under it, and its addresses grow from tile to tile', () => {
  const tiled = { from: 0, to: 4, grid: { B: 1, H: 4, W: 1 }, recompute: true, reorder: 'once' } as const
  const text = textOf({ order, segments: [tiled, { from: 4, to: 6, ...whole }] })
  assert.match(text, /\n {2}for \d tiles along H:\n {4}loadImage /)
  assert.match(text, /\n {8}rowOrigin +index: \d+ \+ 2 H\n/)
})

test('a tensor that waits on the host is copied there and back, and the engines wait for each other', () => {
  const swapSchedule = [{ tensor: 'output of 1', swapOut: 3, freed: 4, swapIn: 9 }]
  const text = textOf({ order, segments: [{ from: 0, to: 6, ...whole }], swapSchedule })
  assert.match(
    text,
    /copy to-host: 1 x 512 bytes from output of 1 @ \d+ to host output of 1 on the host @ 0\n {2}to-host records event \d+/
  )
  assert.match(text, /copy to-device: 1 x 512 bytes from host output of 1 on the host @ 0 to swapped-in output of 1 @ \d+/)
  assert.match(text, /compute waits for event \d+/)
})

test.run()
