export type { AnyLayer, ArgsOf, Layers, Mark, Op, OpArguments, Padding, Pair } from './arguments'
export { flatLayers, type FlatLayer } from './flat-layers'
export type { Layer } from './layer'
export { layerText } from './layer-text'
export { model, modelOf, type Model } from './model'
export { checkpoint, checkpointWithin, input, named, net, seq, tile } from './net'
export {
  avgPool2d,
  conv2d,
  dropout,
  flatten,
  globalAvgPool,
  leakyRelu,
  linear,
  maxPool2d,
  meanSquaredError,
  relu,
  softmaxCrossEntropy
} from './ops'
export { planFor, type Plan, type PlanHostStay, type PlanSegment } from './plan'
export { checkPlan, orderMistake, segmentsMistake, type PlannedLayer } from './plan-rules'
export type { Dim } from './segment'
export { bytesOf, showShape, type Shape } from './shape'
export { shapeRules, type ShapeRule } from './shape-rules'
export type { Accept, AnyTensor, Bad, HeldBytes, ShapeOf, Tensor } from './tensor'
export { trace, type TracedLayer } from './trace'
export { windowCount, windowExtent, windowOf, type Window, type WindowArguments } from './window'
