import {
  adaptiveAvgPool2d,
  batchNorm,
  checkpoint,
  conv2d,
  denseBlock,
  globalAvgPool,
  groupNorm,
  leakyRelu,
  linear,
  maxPool2d,
  model,
  named,
  parallel,
  planFor,
  relu,
  residual,
  resize,
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

const interval = { tensor: 'output of features.2', swapOut: 'forward 1', freed: 'forward scores', swapIn: 'backward loss' } as const

// This one is right, and so are the pool before its rectifier, no budget, a batch in tiles to the
// end, convolutions by Winograd, tiles that are loaded ahead, rows that ranks share, of which each
// takes less than the whole input, a segment that runs forward again and leaves outputs on the
// host, and a swap schedule.
export const accepted = [
  planFor(network)(right),
  planFor(network)({ ...right, order: [0, 2, 1, 3, 4, 5, 6, 7], segments: [{ ...first, checkpoint: 'features.1' }, second, last] }),
  planFor(network)({ ...right, budget: null, segments: [first, { ...second, to: 8, checkpoint: 'loss', grid: { B: 2, H: 1, W: 1 } }] }),
  planFor(network)({ ...right, segments: [{ ...first, winograd: ['features.0'] }, { ...second, winograd: [] }, last] }),
  planFor(network)({
    ...right,
    segments: [{ ...first, winograd: ['features.0'], slicedWinograd: ['features.0'] }, { ...second, slicedWinograd: [] }, last]
  }),
  planFor(network)({ ...right, segments: [first, { ...second, normaliseOnLoad: ['features.3'] }, { ...last, normaliseOnLoad: [] }] }),
  planFor(network)({ ...right, segments: [{ ...first, prefetch: true }, second, last] }),
  planFor(network)({
    ...right,
    segments: [
      { ...first, shards: { B: 1, H: 4 } },
      { ...second, shards: { B: 1, H: 4 } },
      { ...last, shards: { B: 1, H: 1 } }
    ]
  }),
  planFor(network)({
    ...right,
    segments: [
      { ...first, shards: { B: 2, H: 2 } },
      { ...second, shards: { B: 4, H: 1 } },
      { ...last, shards: { B: 4, H: 1 } }
    ]
  }),
  planFor(network)({
    ...right,
    segments: [{ ...first, grid: whole, shards: { B: 1, H: 4 } }, second, last],
    peak: 60000
  }),
  planFor(network)({
    ...right,
    segments: [{ ...first, grid: { B: 1, H: 4, W: 1 }, rematerialize: true, hostTensors: ['features.2'] }, second, last]
  }),
  planFor(network)({
    ...right,
    swapSchedule: [interval, { ...interval, tensor: 'indices of features.2' }, { ...interval, tensor: 'input of features.0' }]
  }),
  // By the names that fields had in earlier versions.
  planFor(network)({
    ...right,
    segments: [{ ...first, grid: { B: 1, H: 4, W: 1 }, loadsAhead: true, repeats: true, streams: ['features.2'] }, second, last],
    residence: [interval],
    placement: { allocator: 'virtual', chunkBytes: 65536 }
  })
]

planFor(network)({
  ...right,
  // expects: a plan has no field residences
  residences: [interval],
  residence: [interval]
})

planFor(network)({
  ...right,
  segments: [
    {
      ...first,
      loadsAhead: true,
      // expects: a segment has no field loadahead
      loadahead: true
    },
    second,
    last
  ]
})

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

planFor(vgg16({ classes: 2 }))({
  ...right,
  model: 'vgg16',
  // expects: layer 0: the model has conv2d 64 k3 p1 (features.0), the plan conv2d 8 k3 p1
  layers
})

planFor(model({ name: 'other', layers: network.layers }))({
  ...right,
  // expects: model: the model is other, the plan for network
  model: 'network'
})

planFor(vgg16({ classes: 2 }))({
  ...right,
  // expects: model: the model is vgg16, the plan for network
  model: 'network',
  // expects: layer 0: the model has conv2d 64 k3 p1 (features.0), the plan conv2d 8 k3 p1
  layers
})

planFor(network)({
  ...right,
  // expects: strategy is \"magic\", not one of auto, plain, chen, chen-sqrt, sft, sft-offload, vdnn, vdnn-conv, lms, lms-hybrid, dymem, window, greedy, dynprog, by hand
  strategy: 'magic'
})

planFor(network)({
  ...right,
  device: {
    name: 'cpu',
    // expects: device.precision is \"float8\", not one of float32, tf32, bf16, float64
    precision: 'float8',
    threads: 2,
    // expects: the device has no field thread; did you mean threads?
    thread: 2
  }
})

planFor(network)({
  ...right,
  // expects: objective is \"train with sgdd\", not one that begins with gradients, evaluate, train with sgd, train with sgd without momentum, train with adam, train with adamw
  objective: 'train with sgdd'
})

planFor(network)({
  ...right,
  // expects: a plan has no field loadAhead
  loadAhead: true,
  // expects: a plan has no field budgets; did you mean budget?
  budgets: [1]
})

planFor(network)({
  ...right,
  segments: [
    first,
    {
      ...second,
      // expects: a segment has no field winogad; did you mean winograd?
      winogad: ['features.3']
    },
    last
  ]
})

planFor(network)({
  ...right,
  segments: [
    {
      ...first,
      grid: {
        B: 1,
        H: 4,
        W: 2,
        // expects: a grid has no dimension h; did you mean H?
        h: 2
      }
    },
    second,
    last
  ]
})

planFor(network)({
  ...right,
  swapSchedule: [
    {
      ...interval,
      // expects: a tensor on the host has no field swapout; did you mean swapOut?
      swapout: 'forward 1'
    }
  ]
})

planFor(network)({
  ...right,
  placement: {
    allocator: 'virtual',
    pageBytes: 4096,
    // expects: a placement has no field pagebytes; did you mean pageBytes?
    pagebytes: 1
  }
})

planFor(network)({
  ...right,
  predicted: {
    // expects: the prediction has no figure peakHostByte; did you mean peakHostBytes?
    peakHostByte: 1
  }
})

planFor(network)({
  ...right,
  swapSchedule: [interval],
  predicted: {
    // expects: predicted: peakHostBytes cannot be 0 where the output of features.2 waits on the host
    peakHostBytes: 0
  }
})

planFor(network)({
  ...right,
  segments: [{ ...first, grid: { B: 1, H: 4, W: 1 }, hostTensors: ['features.2'] }, second, last],
  predicted: {
    // expects: predicted: peakHostBytes cannot be 0 where the output of features.2 waits on the host
    peakHostBytes: 0
  }
})

planFor(network)({
  ...right,
  segments: [
    {
      ...first,
      // expects: segment 0..3: 33 tiles along H are more than the 32 rows of the output of features.2; take at most 32
      grid: { B: 1, H: 33, W: 1 }
    },
    {
      ...second,
      // expects: segment 3..6: 3 tiles along B are more than the 2 images of the input of 2; take at most 2
      grid: { B: 3, H: 1, W: 1 }
    },
    {
      ...last,
      // expects: segment 6..8: 3 tiles along B are more than the 2 images of the input of loss; take at most 2
      grid: { B: 3, H: 1, W: 1 }
    }
  ]
})

planFor(network)({
  ...right,
  // The pool stands before its rectifier, and halves what that takes too.
  order: [0, 2, 1, 3, 4, 5, 6, 7],
  segments: [
    {
      ...first,
      checkpoint: 'features.1',
      // expects: segment 0..3: 33 tiles along W are more than the 32 columns of the output of features.1; take at most 32
      grid: { B: 1, H: 32, W: 33 }
    },
    {
      ...second,
      // expects: segment 3..6: 31 tiles along H are more than the 30 rows of the input of 2; take at most 30
      grid: { B: 1, H: 31, W: 30 }
    },
    last
  ]
})

const convolutions = model({
  name: 'convolutions',
  layers: [
    conv2d({ out: 4, k: [3, 3], s: 1, d: [1, 1], groups: 1, bias: false }),
    conv2d({ out: 4, k: 3, s: 2, p: 1, bias: false }),
    conv2d({ out: 4, k: 1 }),
    conv2d({ out: 4, k: 3, d: 2 }),
    conv2d({ out: 4, k: 3, groups: 2 })
  ]
})
const byWinograd = {
  ...right,
  model: 'convolutions',
  layers: [
    'conv2d 4 k3x3 s1 d1x1 g1 no-bias',
    'conv2d 4 k3 s2 p1 no-bias',
    'conv2d 4 k1',
    'conv2d 4 k3 d2',
    'conv2d 4 k3 g2',
    'pixelCrossEntropy'
  ],
  order: [0, 1, 2, 3, 4, 5]
} as const

planFor(convolutions)({
  ...byWinograd,
  segments: [
    {
      ...last,
      from: 0,
      to: 6,
      winograd: [
        '0',
        // expects: segment 0..6: winograd: there is none for 1 (conv2d 4 k3 s2 p1 no-bias); it takes 3x3 kernels with strides of 1 and one group
        '1',
        // expects: segment 0..6: winograd: there is none for 2 (conv2d 4 k1); it takes
        '2',
        '3',
        // expects: segment 0..6: winograd: there is none for 4 (conv2d 4 k3 g2); it takes
        '4'
      ]
    }
  ]
})

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
      // expects: segment 6..8: prefetch: only a segment in tiles can prefetch
      prefetch: true
    }
  ]
})

planFor(network)({
  ...right,
  segments: [
    {
      ...first,
      grid: whole,
      // expects: segment 0..3: prefetch: only a segment in tiles can prefetch
      prefetch: true
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
    first,
    {
      ...second,
      normaliseOnLoad: [
        'features.3',
        // expects: segment 3..6: normaliseOnLoad: features.0 is not in this segment
        'features.0',
        // expects: segment 3..6: normaliseOnLoad: there is no layer features.9
        'features.9',
        // expects: segment 3..6: normaliseOnLoad: 1 is no convolution but leakyRelu
        '1'
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
      slicedWinograd: [
        // expects: segment 0..3: slicedWinograd: features.0 is not among the convolutions of winograd
        'features.0'
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
      winograd: ['features.0'],
      slicedWinograd: [
        'features.0',
        // expects: segment 0..3: slicedWinograd: scores is not among the convolutions of winograd
        'scores'
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
      hostTensors: [
        // expects: segment 0..3: hostTensors: the output of features.2 passes segment 0..3 in bands of rows, so its grid must be 1x4x1 instead of 1x4x2
        'features.2',
        // expects: segment 0..3: hostTensors: features.3 is not in this segment
        'features.3',
        // expects: segment 0..3: hostTensors: there is no layer features.9
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
    second,
    {
      ...last,
      // expects: segment 6..8: cannot shard along H; linear allows B
      shards: { B: 1, H: 4 }
    }
  ]
})

planFor(network)({
  ...right,
  segments: [
    first,
    {
      ...second,
      grid: whole,
      to: 7,
      checkpoint: 'scores',
      // expects: segment 3..7: cannot shard along H; globalAvgPool sums over the pixels, so it must be the segment's last op
      shards: { B: 1, H: 2 }
    },
    { ...last, from: 7 }
  ]
})

planFor(network)({
  ...right,
  segments: [
    {
      ...first,
      // expects: segment 0..3: shards must be whole numbers above 0
      shards: { B: 0.5, H: 2 }
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
      // expects: segment 0..3: shards must be whole numbers above 0
      shards: { B: 1, H: 0 }
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
      shards: {
        B: 1,
        H: 2,
        // expects: shards have no dimension W
        W: 2
      }
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
      // expects: segment 3..6: rematerialize: the last segment runs backward right after forward, so what leads up to it is still there
      rematerialize: true
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
      // expects: segment 0..3: rematerialize: what runs forward again saves nothing; recompute must be true
      recompute: false,
      rematerialize: true
    },
    second,
    last
  ]
})

planFor(network)({
  ...right,
  swapSchedule: [
    interval,
    {
      ...interval,
      // expects: swapSchedule: there is no tensor output of features.9
      tensor: 'output of features.9'
    }
  ]
})

planFor(network)({
  ...right,
  swapSchedule: [
    {
      ...interval,
      // expects: swapSchedule: there is no tensor indices of features.1
      tensor: 'indices of features.1',
      // expects: swapSchedule: there is no timepoint forward features.9
      swapOut: 'forward features.9',
      // expects: swapSchedule: there is no timepoint scores
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

// expects: segments is missing
planFor(network)({ ...made, input, layers, order, budget: null, peak: 1 })

const branching = model({
  name: 'branching',
  layers: [
    conv2d({ out: 8, k: 3, p: 1 }),
    seq('layer1', [residual([named('bn1', batchNorm()), relu, conv2d({ out: 8, k: 1 })], [batchNorm({ frozen: true })]), relu]),
    denseBlock([maxPool2d({ k: 3, s: 1, p: 1 }), batchNorm()])
  ]
})
const convolutionOnly = { ...first, to: 1, checkpoint: '0', grid: { B: 1, H: 4, W: 1 } } as const
const block = { ...first, from: 1, to: 8, checkpoint: '2', grid: { B: 1, H: 4, W: 1 } } as const
const ending = { ...last, from: 8, to: 10, checkpoint: 'loss' } as const
const split = {
  ...right,
  model: 'branching',
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
const normalising = model({ name: 'normalising', layers: [denseBlock([batchNorm(), relu, conv2d({ out: 1, k: 1 })]), denseBlock([relu])] })
const grouped = model({ name: 'grouped', layers: [conv2d({ out: 8, k: 1 }), groupNorm({ groups: 2 }), conv2d({ out: 3, k: 1 })] })
const twice = model({ name: 'twice', layers: [residual([relu, conv2d({ out: 3, k: 1 })], [batchNorm(), checkpoint]), globalAvgPool] })

planFor(normalising)({
  ...right,
  model: 'normalising',
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

planFor(grouped)({
  ...right,
  model: 'grouped',
  layers: ['conv2d 8 k1', 'groupNorm 2', 'conv2d 3 k1', 'pixelCrossEntropy'],
  order: [0, 1, 2, 3],
  segments: [
    {
      ...last,
      from: 0,
      to: 4,
      // expects: segment 0..4: cannot shard along B; groupNorm needs the statistics of the whole tensor before it, so a segment must end before it
      shards: { B: 2, H: 1 }
    }
  ]
})

planFor(twice)({
  ...right,
  model: 'twice',
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
export const fromFile = (classes: number, plan: import('../../dsl').PlanFile, budget: number, models: import('../../dsl').Model) => [
  planFor(network)(plan),
  planFor(models)(right),
  planFor(network)({ ...right, budget }),
  planFor(network)({ ...right, swapSchedule: [{ ...interval, swapIn: plan.model }] }),
  planFor(network)({ ...right, segments: [{ ...first, winograd: plan.layers }, { ...second, winograd: [plan.model] }, last] }),
  planFor(network)({ ...right, segments: [{ ...first, winograd: plan.layers, slicedWinograd: ['features.0'] }, second, last] }),
  planFor(network)({ ...right, segments: [{ ...first, winograd: ['features.0'], slicedWinograd: plan.layers }, second, last] }),
  planFor(model({ name: 'sized', layers: [globalAvgPool, linear({ out: classes })] }))({
    ...right,
    model: 'sized',
    layers: ['globalAvgPool', 'linear 7', 'softmaxCrossEntropy'],
    order: [0, 1, 2],
    segments: [
      { ...first, checkpoint: '0', to: 1 },
      { ...last, from: 1, to: 3 }
    ]
  })
]

const pooled = model({
  name: 'pooled',
  input: [1, 3, 64, 64],
  layers: [adaptiveAvgPool2d({ out: 1 }), resize({ mode: 'nearest', to: 'block' })]
})

planFor(pooled)({
  ...made,
  model: 'pooled',
  input: [1, 3, 64, 64],
  layers: ['adaptiveAvgPool2d 1', 'resize nearest to-block', 'pixelCrossEntropy'],
  order: [0, 1, 2],
  budget: null,
  peak: 900000,
  segments: [
    {
      from: 0,
      to: 3,
      checkpoint: 'loss',
      // expects: segment 0..3: cannot tile along W; adaptiveAvgPool2d to one pixel sums over the pixels, so it must be the segment's last op
      grid: { B: 1, H: 1, W: 2 },
      recompute: false,
      reorder: 'once'
    }
  ]
})

const joined = model({
  name: 'joined',
  input: [1, 3, 64, 64],
  layers: [parallel([[globalAvgPool], [relu, globalAvgPool]]), linear({ out: 2 })]
})
const ofJoined = {
  ...made,
  model: 'joined',
  input: [1, 3, 64, 64],
  layers: ['globalAvgPool', 'relu', 'globalAvgPool', 'concat', 'linear 2', 'softmaxCrossEntropy'],
  order: [0, 1, 2, 3, 4, 5],
  budget: null,
  peak: 900000
} as const
const tiles = { B: 1, H: 2, W: 2 } as const

// Each pool is read after the segment.
planFor(joined)({
  ...ofJoined,
  segments: [
    { from: 0, to: 3, checkpoint: '2', grid: tiles, recompute: true, reorder: 'once' },
    { from: 3, to: 6, checkpoint: 'loss', grid: whole, recompute: false, reorder: 'once' }
  ]
})

planFor(joined)({
  ...ofJoined,
  segments: [
    {
      from: 0,
      to: 4,
      checkpoint: 'concat',
      // expects: segment 0..4: cannot tile along H W; globalAvgPool sums over the pixels, so it must be the segment's last op
      grid: tiles,
      recompute: true,
      reorder: 'once'
    },
    { from: 4, to: 6, checkpoint: 'loss', grid: whole, recompute: false, reorder: 'once' }
  ]
})
