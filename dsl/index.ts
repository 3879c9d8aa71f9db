export type { AnyLayer, ArgsOf, Layers, Directive } from './arguments'
export {
  comparesWith,
  isConvolutionOp,
  isLoss,
  isNormalisedLoss,
  isRectifier,
  knowsOption,
  mayExchange,
  type Loss,
  type NormalisedLoss,
  type Op,
  type OpArguments
} from './ops'
export { familyOf, lossTable, parseLoss, type LossFamily, type LossName, type LossTerm } from './ops/loss-terms'
export type { LossTarget } from './ops/op-record'
export type { Padding, Pair } from './ops/options'
export * from './activations'
export { padModes, type PadMode } from './ops/movement'
export { denseBlock, gated, parallel, residual, type Gated, type Parallel, type Residual } from './blocks'
export { operations, maxSteps, operandCount, type Expression, type Step as ExpressionStep, type Operation } from './expression/expression'
export { createStepList } from './expression/steps'
export { pointwise, pointwiseOfOutput, type OutputPointwise, type Pointwise } from './expression/pointwise'
export type { PointwiseArguments, PointwiseParameter } from './ops/pointwise'
export { constant, expressionOf, leaf, where, type Condition, type Value } from './expression/value'
export { flatLayers, type FlatLayer } from './flat/flat-layers'
export type { Layer } from './layer'
export { layerText } from './flat/layer-text'
export { model, modelOf, type Model } from './model'
export { checkpoint, checkpointWithin, input, named, net, seq, type Listed, type Named, type Sequence, type Within } from './net'
export { validateOptionNames } from './option-names'
export * from './layers'
export type { Plan, PlanGrid, PlanPlacement, PlanSegment, PlanSwapInterval } from './plan/plan'
export {
  planStrategies,
  strategyNames,
  type PlanFigures,
  type PlanFile,
  type PlanFileSegment,
  type PlanStrategy,
  type StrategyName
} from './plan/plan-file'
export { earlierNames } from './plan/earlier-names'
export { isBroadcast } from './ops/joins'
export { planFor } from './plan/plan-for'
export {
  validateHostRows,
  checkPlan,
  validateOrder,
  validateRematerializations,
  validateSegments,
  type PlannedLayer,
  type UnnamedSegment
} from './plan/rules'
export type { Dim } from './shapes/segment'
export { bytesOf, showShape, type Shape, type ShapeRule } from './shapes/shape'
export { shapeRules } from './shapes/shape-rules'
export type { Accept, AnyTensor, Invalid, HeldBytes, ShapeOf, Tensor } from './typing/tensor'
export { trace, type TracedLayer } from './flat/trace'
export { transposedWindowOf } from './ops/transposed-convolution'
export { windowCount, windowExtent, windowOf, type Window, type WindowArguments } from './ops/window'
