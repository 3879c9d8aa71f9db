import { flow, pipe } from 'fp-ts/function'
import { conv2d, input, maxPool2d, modelOf, net, planFor, relu, tanh } from '../../dsl'

// A model of what was piped, or of a net, is no less known than one that is written as a list.

const x = input([2, 3, 64, 64])
const piped = modelOf('made', pipe(x, conv2d({ out: 8, k: 3, p: 1 }), relu, maxPool2d({ k: 2 })))
const listed = modelOf('made', net(x, [conv2d({ out: 8, k: 3, p: 1 }), relu, maxPool2d({ k: 2 })]))
const flowed = modelOf('made', flow(tanh, maxPool2d({ k: 2 }))(x))

const whole = { from: 0, to: 4, checkpoint: 'loss', grid: { B: 1, H: 1, W: 1 }, recompute: false, reorder: 'once' } as const
const right = {
  model: 'made',
  input: [2, 3, 64, 64],
  layers: ['conv2d 8 k3 p1', 'relu', 'maxPool2d k2', 'pixelCrossEntropy'],
  order: [0, 1, 2, 3],
  strategy: 'by hand',
  device: { name: 'cpu', precision: 'float32', threads: 2 },
  objective: 'train with sgd',
  graph: '0123',
  budget: null,
  peak: 900000,
  segments: [whole],
  predicted: {}
} as const
const rightOfFlow = {
  ...right,
  layers: ['tanh', 'maxPool2d k2', 'pixelCrossEntropy'],
  order: [0, 1, 2],
  segments: [{ ...whole, to: 3 }]
} as const

export const accepted = [planFor(piped)(right), planFor(listed)(right), planFor(flowed)(rightOfFlow)]

planFor(piped)({
  ...right,
  // expects: layer 0: the model has conv2d 8 k3 p1 (0), the plan nonsense
  layers: ['nonsense', 'relu', 'maxPool2d k2', 'pixelCrossEntropy']
})

// expects: model is missing
planFor(piped)({})

// expects: 'nonsense' does not exist in type
planFor(piped)({ nonsense: true })

// expects: has no properties in common with type 'Partial<PlanInFile>'
planFor(piped)('nonsense')

planFor(listed)({
  ...right,
  // expects: a plan has no field nonsense
  nonsense: true
})

planFor(listed)({
  ...right,
  // expects: input: the model takes 2x3x64x64, the plan is for 1x3x64x64
  input: [1, 3, 64, 64]
})

planFor(modelOf('other', pipe(x, tanh, maxPool2d({ k: 2 }))))({
  ...rightOfFlow,
  // expects: model: the model is other, the plan for made
  model: 'made'
})

planFor(flowed)({
  ...rightOfFlow,
  segments: [
    {
      ...whole,
      to: 3,
      // expects: segment 0..3: 33 tiles along H are more than the 32 rows of the input of loss; take at most 32
      grid: { B: 1, H: 33, W: 1 }
    }
  ]
})
