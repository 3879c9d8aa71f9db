import { isLeft, isRight } from 'fp-ts/Either'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { avgPool2d, conv2d, dropout, globalAvgPool, linear, maxPool2d, model, relu, sigmoid, type AnyLayer } from '../../../dsl'
import { builtIn } from '../../../models'
import {
  buildGraph,
  referenceModel,
  stage,
  strategyNames,
  verify,
  type Instruction,
  type Kernel,
  type Objective,
  type Program,
  type Segment
} from '../../../staging'
import type { StageRequest } from '../../../staging'
import {
  changeKernel,
  changeOperand,
  drop,
  instructionsOf,
  launches,
  moveBuffer,
  replaceAt,
  shifted,
  type SectionName
} from './edit-program'
import { drawsOf, netKind, randomNet, type Draw } from '../random-nets'
import { asWritten } from '../../golden/execute'
import { must } from '../../must'
import { randomSegments } from '../random-segments'

const momentum: Objective = { kind: 'train', optimizer: { kind: 'sgd', momentum: 0.9, weightDecay: 0 } }
const adam: Objective = { kind: 'train', optimizer: { kind: 'adam', beta1: 0.9, beta2: 0.999, epsilon: 1e-8, weightDecay: 0 } }

const program = (layers: readonly AnyLayer[], segments: readonly Segment[], rest: Partial<StageRequest> = {}): Program => {
  return must(
    stage({
      model: model({ name: 'net', layers }),
      input: [2, 3, 32, 24],
      device: referenceModel('float32'),
      strategy: 'plain',
      given: asWritten(segments),
      objective: momentum,
      source: { kind: 'image', mean: [0, 0, 0], deviation: [1, 1, 1] },
      ...rest
    })
  ).program
}

/** The sentence with which a Program is refused; empty where it is sound. */
const refusal = (broken: Program): string => {
  const result = verify(broken)
  return isLeft(result) ? result.left.message : ''
}

/** Tiles with halos over a pool and a convolution, a segment of row bands, and an untiled head. */
const sound = program(
  [conv2d({ out: 4, k: 3, p: 1 }), relu, maxPool2d({ k: 2 }), conv2d({ out: 4, k: 3, p: 1 }), relu, globalAvgPool, linear({ out: 2 })],
  [
    { from: 0, to: 3, grid: { B: 1, H: 4, W: 3 }, recompute: true, reorder: 'once' },
    { from: 3, to: 5, grid: { B: 1, H: 4, W: 1 }, recompute: true, reorder: 'once' },
    { from: 5, to: 8, grid: { B: 1, H: 1, W: 1 }, recompute: false, reorder: 'once' }
  ]
)

/** The path of the `which`-th launch of a kind, in the loop of row bands or anywhere. */
const pathOf = (kind: Kernel['kind'], touching: string, section: SectionName = 'step', looped = false): readonly number[] => {
  const buffer = sound.buffers.findIndex(({ name }) => name === touching)
  const found = launches(sound, section).find(({ kernel, launch, path }) => {
    const names = launch.operands.map((operand) => (operand.buffer === undefined ? '' : sound.buffers[operand.buffer]!.name))
    return kernel.kind === kind && names.includes(touching) && path.length > 1 === looped
  })
  if (found === undefined) throw new Error(`no ${kind} of ${touching} (buffer ${buffer})`)
  return found.path
}

const bufferOf = (name: string): number => sound.buffers.findIndex((buffer) => buffer.name === name)

type Launch = Extract<Instruction, { readonly kind: 'launch' }>

const gradientOfPool = 'the gradient of the output of 2'
const bands = 'the gradient of the output of 4'
const seedInLoop = pathOf('copyBox', bands, 'step', true)
const forwardInLoop = pathOf('copyBox', 'the output of 4', 'step', true)
const rowBytes = 12 * 4

const broken: readonly (readonly [string, Program, RegExp])[] = [
  [
    'a sum of gradients that does not start at zero',
    drop(sound, 'step', pathOf('zero', 'the gradient of 3.weight')),
    /^step, instruction \d+ \(copyBox\): destination adds to bytes 0 \.\. 576 of "the gradient of 3\.weight", which nothing writes before\.$/
  ],
  [
    'an input gradient that tiles add to and nothing zeroes',
    drop(sound, 'step', pathOf('zero', gradientOfPool)),
    /^step, instruction \d+ \(copyBox\): destination adds to bytes 0 \.\. \d+ of "the gradient of the output of 2", which nothing writes before\.$/
  ],
  [
    'a forward launch that is missing',
    drop(sound, 'step', pathOf('convolutionForward', '3.weight')),
    /^step, instruction \d+ \(copyBox\): source reads bytes 0 \.\. 1536 of "output of 4", which nothing writes before\.$/
  ],
  [
    'a tile of the output that nothing writes',
    drop(sound, 'step', forwardInLoop.slice(0, 1)),
    /^step, instruction \d+ \(globalAveragePoolForward\): source reads bytes 192 \.\. \d+ of "the output of 4", which nothing writes before\.$/
  ],
  [
    'a gradient that is computed and left',
    drop(sound, 'step', pathOf('sgd', '6.bias')),
    /^step, instruction \d+ \(linearBackwardWeights\): biasGradient writes bytes 0 \.\. 8 of "the gradient of 6\.bias", which nothing reads\.$/
  ],
  [
    "a tile's gradient that is not added",
    drop(sound, 'step', pathOf('copyBox', "tile's gradient of 3.weight", 'step', true)),
    /^step, instruction \d+\.\d+ \(convolutionBackwardWeights\): weightGradient writes bytes 0 \.\. 576 of "tile's gradient of 3\.weight", which nothing reads\.$/
  ],
  [
    'an address shifted into a neighbour',
    changeOperand(sound, 'step', pathOf('convolutionForward', '3.weight'), 3, shifted(64)),
    /^step, instruction \d+ \(convolutionForward\): destination reaches bytes 64 \.\. 1600 of "output of 4", which has 1536\.$/
  ],
  [
    'two live buffers in one place',
    moveBuffer(sound, bufferOf('the output of 2'), -64),
    /^step: ".*" and ".*" are live at once and share bytes \d+ \.\. \d+ of the arena\.$/
  ],
  [
    'a tile that reads what another one computed',
    replaceAt(sound, 'step', forwardInLoop.slice(0, 1), (one) =>
      one.kind === 'loop' ? [{ ...one, body: [...one.body.slice(1), one.body[0]!] }] : [one]
    ),
    /^step, instruction \d+\.0 \(convolutionForward\): source reads bytes 0 \.\. 2304 of "input of 3", which nothing writes before the loop or earlier in the same iteration\.$/
  ],
  [
    'a halo that is too large',
    changeKernel(sound, 'step', pathOf('copyBox', 'the output of 2', 'step', true), (kernel) =>
      kernel.kind === 'copyBox' ? { ...kernel, n2: kernel.n2 + 8 } : kernel
    ),
    /reaches bytes \d+ \.\. \d+ of ".*", which has \d+\.$/
  ],
  [
    'tiles whose seeds overlap',
    changeOperand(sound, 'step', seedInLoop, 0, shifted(-rowBytes)),
    /^step: the tiles' backward leaves out bytes \d+ \.\. \d+ of "the gradient of the output of 4"\.$/
  ],
  [
    'a tile that is seeded twice',
    replaceAt(sound, 'step', seedInLoop, (one) => [one, one]),
    /^step: the tiles' backward takes 3072 bytes of "the gradient of the output of 4" more than once\.$/
  ],
  [
    'a loop of one tile too few',
    replaceAt(sound, 'step', seedInLoop.slice(0, 1), (one) => (one.kind === 'loop' ? [{ ...one, count: one.count - 1 }] : [one])),
    /^step: the tiles' backward leaves out bytes 384 \.\. \d+ of "the gradient of the output of 4"\.$/
  ],
  [
    'a gradient that nothing marks as a seed',
    replaceAt(sound, 'step', seedInLoop, (one) =>
      one.kind === 'launch' ? [{ kind: 'launch', kernel: one.kernel, operands: one.operands }] : [one]
    ),
    /^step, instruction \d+\.\d+ \(copyBox\): source reads "the gradient of the output of 4" beyond the part that its tile owns\.$/
  ],
  ['a peak that is too small', { ...sound, peakBytes: sound.peakBytes - 64 }, /outside the arena of \d+ bytes\.$/],
  [
    'a peak that is too large',
    { ...sound, peakBytes: sound.peakBytes + 64 },
    /^the Program says that its peak is \d+ bytes, but it touches \d+\.$/
  ],
  [
    'a loop that runs out of the arena',
    changeOperand(sound, 'step', seedInLoop, 0, (address) => ({ ...address, strides: [0, sound.peakBytes, 0] })),
    /^step, instruction \d+\.\d+ \(copyBox\): source reaches bytes \d+ \.\. \d+, outside the arena of \d+ bytes\.$/
  ],
  [
    'optimizer state that nothing restores',
    (() => {
      const { path, launch } = launches(sound, 'restore').find(
        ({ launch }) => sound.buffers[launch.operands[1]!.buffer!]!.name === 'velocity.3.weight'
      )!
      const dropped = drop(sound, 'restore', path)
      const stepIo = sound.restore.stepIo.filter(({ offset }) => offset !== launch.operands[0]!.base)
      return { ...dropped, restore: { ...dropped.restore, stepIo } }
    })(),
    /^step, instruction \d+ \(sgd\): velocity adds to bytes 0 \.\. 576 of "velocity\.3\.weight", which nothing writes before\.$/
  ],
  [
    'a weight that is given and not taken',
    drop(sound, 'restore', [0]),
    /^restore: no instruction touches bytes 0 \.\. 432 of "0\.weight of the I\/O buffer"\.$/
  ],
  [
    'a weight that is saved in part',
    changeKernel(sound, 'save', [0], (kernel) => (kernel.kind === 'copyBox' ? { ...kernel, n3: kernel.n3 - 1 } : kernel)),
    /^save: no instruction writes bytes 428 \.\. 432 of "0\.weight of the I\/O buffer"\.$/
  ],
  [
    'a convolution in place',
    changeOperand(sound, 'step', pathOf('linearForward', 'output of 5'), 3, () => {
      const { launch } = launches(sound).find(({ kernel }) => kernel.kind === 'linearForward')!
      return launch.operands[0]!
    }),
    /^step, instruction \d+ \(linearForward\): destination overwrites source in "output of 5" while it is read\.$/
  ],
  [
    'an image read past its border',
    changeOperand(sound, 'step', [1], 2, (address) => ({ ...address, base: 30 })),
    /^step, instruction 1 \(loadImage\): rowOrigin takes the values 30 \.\. 30, outside 0 \.\. \d+\.$/
  ],
  [
    'an index that is an address',
    changeOperand(sound, 'step', [1], 2, (address) => ({ ...address, space: 'arena', buffer: 0 })),
    /^step, instruction 1 \(loadImage\): rowOrigin is no index\.$/
  ],
  [
    'a loss that is never computed',
    drop(sound, 'step', launches(sound).find(({ kernel }) => kernel.kind === 'softmaxCrossEntropyForward')!.path),
    /^step: softmaxCrossEntropyForward leaves out all of "target of the I\/O buffer"\.$/
  ],
  [
    'an address that does not say its buffer',
    changeOperand(sound, 'step', [2], 0, ({ space, base, strides }) => ({ space, base, strides })),
    /^step, instruction 2 \(convolutionForward\): source does not say which buffer of the arena it means\.$/
  ],
  [
    'a launch without operands',
    replaceAt(sound, 'step', pathOf('zero', gradientOfPool), (one) => [{ ...(one as Launch), operands: [] }]),
    /^step, instruction \d+ \(zero\): has 0 operands instead of 1\.$/
  ],
  [
    'a source that is absent',
    changeOperand(sound, 'step', seedInLoop, 0, (address) => ({ ...address, space: 'none' })),
    /^step, instruction \d+\.\d+ \(copyBox\): source is absent\.$/
  ],
  [
    'a loop of no tiles',
    replaceAt(sound, 'step', seedInLoop.slice(0, 1), (one) => (one.kind === 'loop' ? [{ ...one, count: 0 }] : [one])),
    /^step, instruction \d+ \(loop H\): runs 0 times\.$/
  ],
  [
    'a loop in a loop of its own axis',
    replaceAt(sound, 'step', seedInLoop, (one) => [{ kind: 'loop', axis: 'H', count: 2, body: [one] }]),
    /^step, instruction \d+\.\d+ \(loop H\): stands in a loop of its own axis\.$/
  ]
]

const pick = <A>(draw: Draw, from: readonly A[]): A => from[draw(0, from.length - 1)]!

test('a sound Program is verified, with its peak', () => {
  const result = verify(sound)
  assert.is(refusal(sound), '')
  assert.is(isRight(result) && result.right.peakBytes, sound.peakBytes)
})

for (const [name, program, sentence] of broken) test(`refuses ${name}`, () => assert.match(refusal(program), sentence))

test('every Program that staging makes is sound: random nets, devices of all precisions, grids, strategies and objectives', () => {
  const objectives: readonly Objective[] = [{ kind: 'gradients' }, momentum, adam]
  let verified = 0
  for (let seed = 0; seed < 60; seed++) {
    const draw = drawsOf(seed)
    const { model, input } = randomNet(draw, netKind(seed))
    const graph = must(buildGraph(model, input))
    const strategy = strategyNames[draw(0, strategyNames.length - 1)]!
    const request: StageRequest = {
      model,
      input,
      strategy,
      device: referenceModel((['float64', 'float32', 'bf16'] as const)[draw(0, 2)]!),
      objective: objectives[draw(0, 2)]!,
      source: draw(0, 1) === 1 ? { kind: 'image', mean: [0], deviation: [1] } : { kind: 'float' }
    }
    const whole = stage({ ...request, strategy: 'plain' })
    const budget = Math.floor((must(whole).program.peakBytes * draw(30, 100)) / 100)
    for (const staged of [
      whole,
      stage({ ...request, given: asWritten(randomSegments(draw, graph)) }),
      stage({ ...request, budget: { bytes: budget } })
    ])
      if (isRight(staged)) {
        assert.is(refusal(staged.right.program), '', `seed ${seed}`)
        verified += 1
      }
  }
  assert.ok(verified > 110, `${verified} of 180 have a Program`)
})

test('VGG-16 of 20480 and of 80000 pixels squared is verified in a moment, whatever the number of its tiles', () => {
  for (const [pixels, budget] of [
    [20480, 2 ** 30],
    [80000, 2 ** 32]
  ] as const) {
    const staged = must(
      stage({
        model: builtIn.vgg16!({ classes: 2, head: 'gap' }),
        input: [1, 3, pixels, pixels],
        device: referenceModel('float32'),
        strategy: 'sft',
        budget: { bytes: budget },
        objective: momentum,
        source: { kind: 'image', mean: [0, 0, 0], deviation: [1, 1, 1] }
      })
    )
    const { user } = process.cpuUsage()
    assert.is(refusal(staged.program), '')
    const milliseconds = (process.cpuUsage().user - user) / 1000
    assert.ok(milliseconds < 2000, `${milliseconds} ms`)
  }
})

// Boxes once had a digit for pairs of images, which copies of one and of three images carried into.
for (const [what, images, first, then] of [
  ['single images, then pairs', 8, { grid: { B: 8, H: 1, W: 3 } }, { B: 4, H: 1, W: 1 }],
  ['three images, then pairs', 6, { grid: { B: 2, H: 1, W: 3 } }, { B: 3, H: 1, W: 1 }],
  ['single images, loaded ahead', 4, { grid: { B: 4, H: 1, W: 6 }, prefetch: true }, { B: 1, H: 1, W: 5 }]
] as const)
  test(`columns of ${what}: sound`, () => {
    const tiled = { recompute: true, reorder: 'once' } as const
    const columns = program(
      [conv2d({ out: 32, k: 3, p: 1 }), relu, conv2d({ out: 4, k: 3, p: 1 }), relu, globalAvgPool, linear({ out: 2 })],
      [
        { from: 0, to: 2, ...first, ...tiled },
        { from: 2, to: 4, grid: then, ...tiled },
        { from: 4, to: 7, grid: { B: 1, H: 1, W: 1 }, recompute: false, reorder: 'once' }
      ],
      { input: [images, 3, 32, 40] }
    )
    assert.is(refusal(columns), '')
  })

const whole = { grid: { B: 1, H: 1, W: 1 }, recompute: false, reorder: 'once' } as const
const ahead = program(
  [conv2d({ out: 4, k: 3, p: 1 }), relu, maxPool2d({ k: 2 }), globalAvgPool, linear({ out: 2 })],
  [
    { from: 0, to: 3, grid: { B: 2, H: 3, W: 5 }, recompute: true, reorder: 'once', prefetch: true },
    { from: 3, to: 6, ...whole }
  ]
)

test('tiles that are loaded ahead are sound, and no wait of theirs is in vain', () => {
  assert.is(refusal(ahead), '')
  let sound = 0
  for (const { path, one } of instructionsOf(ahead.step.code)) {
    if (one.kind !== 'wait') continue
    const sentence = refusal(drop(ahead, 'step', path))
    if (one.engine === 'compute') assert.match(sentence, /reads .* of "input tile", but nothing has waited for the to-device engine/)
    else if (sentence === '') sound++
    else assert.match(sentence, /writes .* of "input tile", but nothing has waited for the compute engine/)
  }
  assert.ok(sound <= 4, 'only the first two tiles of each pass may find their places empty')
})

// Both places were once as large as the largest tile, so that the arena was larger than what is
// touched.
test('each place for tiles that are loaded ahead is as large as what is loaded there', () => {
  const tiles = program(
    [conv2d({ out: 4, k: 3, p: 1 }), globalAvgPool, linear({ out: 2 })],
    [
      { from: 0, to: 1, grid: { B: 1, H: 1, W: 3 }, recompute: true, reorder: 'once', prefetch: true },
      { from: 1, to: 4, ...whole }
    ]
  )
  const columnBytes = 4 * 2 * 3 * 32
  const places = tiles.buffers.flatMap(({ name, bytes }) => (name === 'input tile' ? [bytes / columnBytes] : []))
  // The second of three tiles has a halo on either side.
  assert.equal(places.slice(0, 2), [9, 10])
  assert.is(refusal(tiles), '')
})

test('a tile that is loaded to the wrong one of two places is refused', () => {
  const { path, launch } = launches(ahead).find(({ launch }) => launch.engine === 'to-device')!
  const other = ahead.buffers.findIndex(({ name }, buffer) => name === 'input tile' && buffer !== launch.operands[0]!.buffer)
  const moved = changeOperand(ahead, 'step', path, 0, (address) => ({ ...address, buffer: other, base: ahead.buffers[other]!.offset }))
  assert.match(refusal(moved), /input tile/)
})

// A sum over pixels that an op in place follows at a segment's end was once not zeroed.
test('a sum over pixels may be followed in place', () => {
  const segments: readonly Segment[] = [
    { from: 0, to: 3, grid: { B: 2, H: 1, W: 1 }, recompute: true, reorder: 'once' },
    { from: 3, to: 5, grid: { B: 1, H: 1, W: 1 }, recompute: true, reorder: 'once' }
  ]
  for (const after of [relu, dropout({ rate: 0.5 })])
    assert.is(refusal(program([conv2d({ out: 4, k: 3 }), globalAvgPool, after, linear({ out: 2 })], segments)), '')
})

test('a gradient that no tile begins with is refused', () => {
  const seeds = launches(sound).filter(({ launch: { seed, operands } }) => seed !== undefined && operands[seed]!.buffer === bufferOf(bands))
  const zeroed = seeds.reduce((changed, { path, launch }) => {
    const place = launch.operands[1]!
    const { offset, bytes } = sound.buffers[place.buffer!]!
    const zero: Launch = { kind: 'launch', kernel: changed.kernels.length, operands: [{ ...place, base: offset, strides: [0, 0, 0] }] }
    return replaceAt({ ...changed, kernels: [...changed.kernels, { kind: 'zero', bytes }] }, 'step', path, () => [zero])
  }, sound)
  assert.ok(seeds.length > 1)
  assert.is(refusal(zeroed), 'step: the tiles\' backward leaves out all of "the gradient of the output of 4".')
})

test('a sum over pixels of which a tile leaves out a row is refused', () => {
  const summing = program(
    [conv2d({ out: 4, k: 3, p: 1 }), globalAvgPool, linear({ out: 2 })],
    [
      { from: 0, to: 2, grid: { B: 1, H: 4, W: 1 }, recompute: true, reorder: 'once' },
      { from: 2, to: 4, ...whole }
    ]
  )
  assert.is(refusal(summing), '')
  const { path } = launches(summing).find(({ kernel }) => kernel.kind === 'globalAveragePoolForward')!
  const short = changeKernel(summing, 'step', path, (kernel) =>
    kernel.kind === 'globalAveragePoolForward' ? { ...kernel, height: kernel.height - 1 } : kernel
  )
  assert.is(refusal(short), 'step: globalAveragePoolForward takes 768 bytes of "the output of 1" too few, over 768 pixels.')
})

test('what backward does not need is not computed again', () => {
  const { kernels, step } = program(
    [conv2d({ out: 4, k: 3 }), avgPool2d({ k: 2 }), conv2d({ out: 4, k: 3 }), globalAvgPool],
    [
      { from: 0, to: 2, grid: { B: 1, H: 1, W: 1 }, recompute: true, reorder: 'once' },
      { from: 2, to: 5, grid: { B: 1, H: 1, W: 1 }, recompute: false, reorder: 'once' }
    ]
  )
  const run = step.code.map((one) => (one.kind === 'launch' ? kernels[one.kernel]!.kind : one.kind))
  assert.is(run.filter((kind) => kind === 'convolutionForward').length, 2)
})

/** A rectifier, or a sigmoid, ends a segment in tiles, and a convolution reads what it makes. */
const endingIn = (end: AnyLayer): Program =>
  program(
    [conv2d({ out: 4, k: 3 }), end, conv2d({ out: 4, k: 3 }), globalAvgPool],
    [
      { from: 0, to: 2, grid: { B: 1, H: 3, W: 2 }, recompute: true, reorder: 'once' },
      { from: 2, to: 5, grid: { B: 1, H: 1, W: 1 }, recompute: false, reorder: 'once' }
    ]
  )

test('where the output of the op that ends a segment is enough for its backward, nothing makes it again', () => {
  for (const [end, kind] of [
    [relu, 'rectifierBackward'],
    [sigmoid, 'pointwiseBackward']
  ] as const) {
    const ending = endingIn(end)
    assert.is(refusal(ending), '')
    const all = launches(ending)
    assert.is(all.filter(({ kernel }) => kernel.kind === 'convolutionForward' && kernel.inChannels === 3).length, 1)
    const whole = all.find(({ kernel }) => kernel.kind === kind)!
    assert.is(whole.path.length, 1, 'before the tiles')

    // A gradient becomes that of an op's input once, all of it, and before any tile reads it.
    const again = replaceAt(ending, 'step', whole.path, (one) => [one, one])
    assert.match(refusal(again), `${kind}): destinationGradient reads "the gradient of the output of 1" beyond the part that its tile owns`)
    const part = changeKernel(ending, 'step', whole.path, (kernel) =>
      'count' in kernel ? { ...kernel, count: kernel.count - 1 } : 'channels' in kernel ? { ...kernel, channels: 3 } : kernel
    )
    assert.match(refusal(part), `${kind}): destinationGradient reads "the gradient of the output of 1" beyond`)
    const [position] = whole.path as [number]
    const late = replaceAt(drop(ending, 'step', whole.path), 'step', [ending.step.code.length - 2], (one) => [
      one,
      ending.step.code[position]!
    ])
    assert.is.not(refusal(late), '')
  }
})

/**
 * One random change to an address of a sound Program: its bytes, its advance in a loop, or its
 * buffer.
 */
const mutant = (draw: Draw): Program => {
  const { path, launch } = pick(draw, launches(sound))
  const operand = pick(
    draw,
    launch.operands.flatMap(({ space }, position) => (space === 'none' ? [] : [position]))
  )
  const bytes = 4 * draw(1, 64) * (draw(0, 1) === 1 ? 1 : -1)
  const buffer = draw(0, sound.buffers.length - 1)
  return changeOperand(sound, 'step', path, operand, (address) => {
    const [batch, rows, columns] = address.strides
    if (path.length > 1 && draw(0, 1) === 1) return { ...address, strides: [batch, rows + bytes, columns] }
    const elsewhere = address.space === 'arena' && buffer !== address.buffer && draw(0, 1) === 1
    return elsewhere ? { ...address, buffer, base: sound.buffers[buffer]!.offset } : shifted(bytes)(address)
  })
}

test('random changes of one address are nearly always found, and never more than refused', () => {
  const draw = drawsOf(7)
  const tried = 400
  const found = Array.from({ length: tried }).filter(() => refusal(mutant(draw)) !== '').length
  if (process.env.TILEFOLD_FIGURES !== undefined) console.log(`${found} of ${tried} changed addresses found`)
  assert.ok(found >= 0.95 * tried, `${found} of ${tried} found`)
})

test('random changes of one number of a kernel are refused or verified, never thrown', () => {
  const draw = drawsOf(11)
  for (let run = 0; run < 200; run++) {
    const { path, kernel } = pick(draw, launches(sound))
    const field = pick(
      draw,
      Object.keys(kernel).filter((name) => name !== 'kind')
    )
    const value = pick(draw, [0, -1, 1, 2, 0.5, NaN, Infinity, 1e15, 2 ** 53])
    refusal(changeKernel(sound, 'step', path, (old) => ({ ...old, [field]: value }) as Kernel))
  }
})

test.run()
