import {
  batchNorm,
  checkpoint,
  conv2d,
  dense,
  globalAvgPool,
  leakyRelu,
  linear,
  maxPool2d,
  model,
  named,
  planFor,
  relu,
  residual,
  seq,
  tile
} from '../../dsl'
import { vgg16 } from '../../models'

const network = model({
  name: 'network',
  input: [2, 3, 64, 64],
  layers: [
    seq('features', [conv2d({ out: 8, k: 3, p: 1 }), relu, maxPool2d({ k: 2 }), tile({ H: 2 }), checkpoint, conv2d({ out: 16, k: 3 })]),
    leakyRelu({ slope: 0.1 }),
    globalAvgPool,
    named('scores', linear({ out: 2 }))
  ]
})

const made = {
  model: 'network',
  strategy: 'by hand',
  device: { name: 'cpu', precision: 'float32', threads: 2 },
  objective: 'train with sgd',
  graph: '0123',
  predicted: {}
} as const
const input = [2, 3, 64, 64] as const
const layers = [
  'conv2d 8 k3 p1',
  'relu',
  'maxPool2d k2',
  'conv2d 16 k3',
  'leakyRelu 0.1',
  'globalAvgPool',
  'linear 2',
  'softmaxCrossEntropy'
] as const
const order = [0, 1, 2, 3, 4, 5, 6, 7] as const
const whole = { B: 1, H: 1, W: 1 } as const
const first = { from: 0, to: 3, checkpoint: 'features.2', grid: { B: 1, H: 4, W: 2 }, recompute: true, reorder: 'once' } as const
const second = { from: 3, to: 6, checkpoint: '2', grid: { B: 2, H: 3, W: 1 }, recompute: true, reorder: 'each-tile' } as const
const last = { from: 6, to: 8, checkpoint: 'loss', grid: whole, recompute: false, reorder: 'once' } as const
const segments = [first, second, last] as const
const right = { ...made, input, layers, order, budget: 1000000, peak: 900000, segments } as const

const stay = { tensor: 'output of features.2', swapOut: 'forward 1', freed: 'forward scores', swapIn: 'backward loss' } as const

// This one is right, and so are the pool before its rectifier, no budget, a batch in tiles to the end, convolutions by Winograd, tiles
// that are loaded ahead, a segment that runs forward again and streams, and stays on the host.
export const accepted = [
  planFor(network)(right),
  planFor(network)({ ...right, order: [0, 2, 1, 3, 4, 5, 6, 7], segments: [{ ...first, checkpoint: 'features.1' }, second, last] }),
  planFor(network)({ ...right, budget: null, segments: [first, { ...second, to: 8, checkpoint: 'loss', grid: { B: 2, H: 1, W: 1 } }] }),
  planFor(network)({ ...right, segments: [{ ...first, winograd: ['features.0'] }, { ...second, winograd: [] }, last] }),
  planFor(network)({ ...right, segments: [{ ...first, loadsAhead: true }, second, last] }),
  planFor(network)({
    ...right,
    segments: [{ ...first, grid: { B: 1, H: 4, W: 1 }, repeats: true, streams: ['features.2'] }, second, last]
  }),
  planFor(network)({
    ...right,
    residence: [stay, { ...stay, tensor: 'winners of features.2' }, { ...stay, tensor: 'input of features.0' }]
  })
]

planFor(network)({
  ...right,
  // expects: layer 3: the model has conv2d 16 k3 (features.3), the plan conv2d 16 k3 p1
  layers: ['conv2d 8 k3 p1', 'relu', 'maxPool2d k2', 'conv2d 16 k3 p1', 'leakyRelu 0.1', 'globalAvgPool', 'linear 2', 'softmaxCrossEntropy']
})

planFor(network)({
  ...right,
  // expects: layer 4: the model has leakyRelu 0.1 (1), the plan leakyRelu
  layers: ['conv2d 8 k3 p1', 'relu', 'maxPool2d k2', 'conv2d 16 k3', 'leakyRelu', 'globalAvgPool', 'linear 2', 'softmaxCrossEntropy']
})

// expects: layer 0: the model has conv2d 64 k3 p1 (features.0), the plan conv2d 8 k3 p1
planFor(vgg16({ classes: 2 }))(right)

planFor(network)({
  ...right,
  // expects: layers: the model has 8, its loss included, the plan 7
  layers: ['conv2d 8 k3 p1', 'relu', 'maxPool2d k2', 'conv2d 16 k3', 'leakyRelu 0.1', 'globalAvgPool', 'linear 2']
})

planFor(network)({
  ...right,
  // expects: input: the model takes 2x3x64x64, the plan is for 2x3x128x64
  input: [2, 3, 128, 64]
})

planFor(network)({
  ...right,
  // expects: input: takes images BxCxHxW, not 3x64x64
  input: [3, 64, 64]
})

planFor(network)({
  ...right,
  // expects: input: 2x3x0x64 must be whole numbers above 0
  input: [2, 3, 0, 64]
})

planFor(network)({
  ...right,
  // expects: order: 1 cannot run at position 0; only a max pool may run before the rectifier that it follows
  order: [1, 0, 2, 3, 4, 5, 6, 7]
})

planFor(network)({
  ...right,
  // expects: order: the model has 8 layers, its loss included, the order 7
  order: [0, 1, 2, 3, 4, 5, 6]
})

planFor(network)({
  ...right,
  segments: [
    first,
    {
      ...second,
      // expects: segment 3..6: cannot tile along C; conv2d allows B H W
      grid: { B: 1, C: 2, H: 1, W: 1 }
    },
    last
  ]
})

planFor(network)({
  ...right,
  segments: [
    first,
    second,
    {
      ...last,
      // expects: segment 6..8: cannot tile along H; linear allows B
      grid: { B: 1, H: 2, W: 1 }
    }
  ]
})

planFor(network)({
  ...right,
  segments: [
    first,
    {
      ...second,
      to: 8,
      checkpoint: 'loss',
      // expects: segment 3..8: cannot tile along H W; globalAvgPool sums over the pixels, so it must be the segment's last op
      grid: { B: 2, H: 2, W: 2 }
    }
  ]
})

planFor(network)({
  ...right,
  segments: [
    first,
    {
      ...second,
      // expects: segment 3..6: tile counts must be whole numbers above 0
      grid: { B: 1, H: 2.5, W: 1 }
    },
    last
  ]
})

planFor(network)({
  ...right,
  segments: [
    {
      ...first,
      // expects: segment 0..3: tile counts must be whole numbers above 0
      grid: { B: 1, H: 4, W: 0 }
    },
    second,
    last
  ]
})

planFor(network)({
  ...right,
  segments: [
    {
      ...first,
      // expects: segment 0..3: what is tiled is recomputed in backward; recompute must be true
      recompute: false
    },
    second,
    last
  ]
})

planFor(network)({
  ...right,
  segments: [
    first,
    {
      ...second,
      // expects: segments must follow each other: this one starts at 4, the one before ends at 3
      from: 4
    },
    last
  ]
})

planFor(network)({
  ...right,
  segments: [
    first,
    {
      ...second,
      // expects: segments must follow each other: this one starts at 2, the one before ends at 3
      from: 2
    },
    last
  ]
})

planFor(network)({
  ...right,
  segments: [
    {
      ...first,
      // expects: the first segment must start at 0, not at 1
      from: 1
    },
    second,
    last
  ]
})

planFor(network)({
  ...right,
  segments: [
    first,
    {
      ...second,
      // expects: the segments end at 6, but the model has 8 layers, its loss included
      to: 6
    }
  ]
})

planFor(network)({
  ...right,
  // expects: the segments end at 0, but the model has 8 layers, its loss included
  segments: []
})

planFor(network)({
  ...right,
  segments: [
    first,
    second,
    {
      ...last,
      // expects: segment 6..9: it must end after 6 and at 8 at the latest
      to: 9
    }
  ]
})

planFor(network)({
  ...right,
  segments: [
    first,
    {
      ...second,
      // expects: segment 3..3: it must end after 3 and at 8 at the latest
      to: 3
    },
    last
  ]
})

planFor(network)({
  ...right,
  segments: [
    {
      ...first,
      // expects: segment 0..3: there is no layer features.9; its last one is features.2
      checkpoint: 'features.9'
    },
    second,
    last
  ]
})

planFor(network)({
  ...right,
  segments: [
    {
      ...first,
      // expects: segment 0..3: its last layer is features.2, not features.1
      checkpoint: 'features.1'
    },
    second,
    last
  ]
})

planFor(network)({
  ...right,
  segments: [
    first,
    second,
    {
      ...last,
      // expects: segment 6..8: loadsAhead: only a segment in tiles loads ahead
      loadsAhead: true
    }
  ]
})

planFor(network)({
  ...right,
  segments: [
    {
      ...first,
      grid: whole,
      // expects: segment 0..3: loadsAhead: only a segment in tiles loads ahead
      loadsAhead: true
    },
    second,
    last
  ]
})

planFor(network)({
  ...right,
  segments: [
    {
      ...first,
      winograd: [
        'features.0',
        // expects: segment 0..3: winograd: there is no layer features.9
        'features.9'
      ]
    },
    second,
    last
  ]
})

planFor(network)({
  ...right,
  segments: [
    first,
    {
      ...second,
      winograd: [
        // expects: segment 3..6: winograd: features.0 is not in this segment
        'features.0'
      ]
    },
    last
  ]
})

planFor(network)({
  ...right,
  segments: [
    {
      ...first,
      winograd: [
        // expects: segment 0..3: winograd: features.1 is no convolution but relu
        'features.1'
      ]
    },
    second,
    last
  ]
})

planFor(network)({
  ...right,
  segments: [
    {
      ...first,
      streams: [
        // expects: segment 0..3: streams: the output of features.2 passes segment 0..3 in bands of rows, so its grid must be 1x4x1 instead of 1x4x2
        'features.2',
        // expects: segment 0..3: streams: features.3 is not in this segment
        'features.3',
        // expects: segment 0..3: streams: there is no layer features.9
        'features.9'
      ]
    },
    second,
    last
  ]
})

planFor(network)({
  ...right,
  segments: [
    first,
    {
      ...second,
      // expects: segment 3..6: repeats: the last segment runs backward right after forward, so what leads up to it is still there
      repeats: true
    },
    last
  ]
})

planFor(network)({
  ...right,
  segments: [
    {
      ...first,
      grid: whole,
      // expects: segment 0..3: repeats: what runs forward again keeps nothing; recompute must be true
      recompute: false,
      repeats: true
    },
    second,
    last
  ]
})

planFor(network)({
  ...right,
  residence: [
    stay,
    {
      ...stay,
      // expects: residence: there is no tensor output of features.9
      tensor: 'output of features.9'
    }
  ]
})

planFor(network)({
  ...right,
  residence: [
    {
      ...stay,
      // expects: residence: there is no tensor winners of features.1
      tensor: 'winners of features.1',
      // expects: residence: there is no moment forward features.9
      swapOut: 'forward features.9',
      // expects: residence: there is no moment scores
      swapIn: 'scores'
    }
  ]
})

planFor(network)({
  ...right,
  budget: 1073741824,
  // expects: the peak of 2073000000 bytes is over the budget of 1073741824
  peak: 2073000000
})

// expects: Property 'segments' is missing
planFor(network)({ ...made, input, layers, order, budget: null, peak: 1 })

const branching = model({
  name: 'branching',
  layers: [
    conv2d({ out: 8, k: 3, p: 1 }),
    seq('layer1', [residual([named('bn1', batchNorm()), relu, conv2d({ out: 8, k: 1 })], [batchNorm({ frozen: true })]), relu]),
    dense([maxPool2d({ k: 3, s: 1, p: 1 }), batchNorm()])
  ]
})
const convolutionOnly = { ...first, to: 1, checkpoint: '0', grid: { B: 1, H: 4, W: 1 } } as const
const block = { ...first, from: 1, to: 8, checkpoint: '2', grid: { B: 1, H: 4, W: 1 } } as const
const ending = { ...last, from: 8, to: 10, checkpoint: 'loss' } as const
const split = {
  ...right,
  layers: [
    'conv2d 8 k3 p1',
    'batchNorm',
    'relu',
    'conv2d 8 k1',
    'batchNorm frozen',
    'add',
    'relu',
    'maxPool2d k3 s1 p1',
    'batchNorm',
    'concat',
    'pixelCrossEntropy'
  ],
  order: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
  segments: [convolutionOnly, block, { ...ending, to: 11 }]
} as const

export const alsoAccepted = planFor(branching)(split)

planFor(branching)({
  ...split,
  segments: [
    {
      ...convolutionOnly,
      to: 8,
      checkpoint: '2',
      // expects: segment 0..8: cannot tile along H; batchNorm needs the statistics of the whole tensor before it, so a segment must end before it
      grid: { B: 1, H: 4, W: 1 }
    },
    { ...ending, to: 11 }
  ]
})

planFor(branching)({
  ...split,
  segments: [
    convolutionOnly,
    {
      ...block,
      to: 11,
      checkpoint: 'loss',
      // expects: segment 1..11: cannot tile along B; batchNorm needs the statistics of the whole tensor before it, so a segment must end before it
      grid: { B: 2, H: 1, W: 1 }
    }
  ]
})

planFor(branching)({
  ...split,
  // expects: order: 7 cannot run at position 6; only a max pool may run before the rectifier that it follows
  order: [0, 1, 2, 3, 4, 5, 7, 6, 8, 9, 10]
})

planFor(branching)({
  ...split,
  segments: [
    convolutionOnly,
    {
      ...block,
      // expects: segment 1..8: there is no layer layer1.add1; its last one is 2
      checkpoint: 'layer1.add1'
    },
    { ...ending, to: 11 }
  ]
})

/** Two normalisations of the network's input: at the front, and where a branch starts. */
const normalising = model({ name: 'normalising', layers: [dense([batchNorm(), relu, conv2d({ out: 1, k: 1 })]), dense([relu])] })
const twice = model({ name: 'twice', layers: [residual([relu, conv2d({ out: 3, k: 1 })], [batchNorm(), checkpoint]), globalAvgPool] })

planFor(normalising)({
  ...right,
  layers: ['batchNorm', 'relu', 'conv2d 1 k1', 'concat', 'relu', 'concat', 'pixelCrossEntropy'],
  order: [0, 1, 2, 3, 4, 5, 6],
  segments: [
    {
      ...first,
      to: 2,
      checkpoint: '1',
      // expects: segment 0..2: cannot tile along H W; batchNorm needs the statistics of the whole input, so a segment must end after it
      grid: { B: 1, H: 4, W: 2 }
    },
    { ...last, from: 2, to: 7 }
  ]
})

planFor(twice)({
  ...right,
  layers: ['relu', 'conv2d 3 k1', 'batchNorm', 'add', 'globalAvgPool', 'softmaxCrossEntropy'],
  order: [0, 1, 2, 3, 4, 5],
  segments: [
    { ...first, to: 1, checkpoint: '0' },
    {
      ...first,
      from: 1,
      checkpoint: '2',
      // expects: segment 1..3: cannot tile along H W; batchNorm needs the statistics of the whole input, so a segment must end after it
      grid: { B: 1, H: 4, W: 2 }
    },
    { ...last, from: 3, to: 6 }
  ]
})

// What only run time knows is accepted: sizes from a file, a plan that no compiler saw.
export const fromFile = (classes: number, plan: import('../../dsl').Plan, budget: number, models: import('../../dsl').Model) => [
  planFor(network)(plan),
  planFor(models)(right),
  planFor(network)({ ...right, budget }),
  planFor(network)({ ...right, residence: [{ ...stay, swapIn: plan.model }] }),
  planFor(network)({ ...right, segments: [{ ...first, winograd: plan.layers }, { ...second, winograd: [plan.model] }, last] }),
  planFor(model({ name: 'sized', layers: [globalAvgPool, linear({ out: classes })] }))({
    ...right,
    layers: ['globalAvgPool', 'linear 7', 'softmaxCrossEntropy'],
    order: [0, 1, 2],
    segments: [
      { ...first, checkpoint: '0', to: 1 },
      { ...last, from: 1, to: 3 }
    ]
  })
]
