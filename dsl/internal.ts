// What staging and commands read of layers, beside what models are written with (index.ts).
export type { ArgsOf } from './arguments'
export { comparesWith, isConvolutionOp, isLoss, isRectifier, knowsOption, mayExchange, type Op, type OpArguments } from './ops'
export type { LossTarget } from './ops/op-record'
export { padModes } from './ops/movement'
export {
  operations,
  maxExpressionSteps,
  operandCount,
  type Expression,
  type Step as ExpressionStep,
  type Operation
} from './expression/expression'
export { createStepList } from './expression/steps'
export { flatLayers, type FlatLayer } from './flat/flat-layers'
export { layerText } from './flat/layer-text'
export { validateOptionNames } from './option-names'
export type { PlanGrid, PlanPlacement, PlanSegment, PlanSwapInterval } from './plan/plan'
export { planStrategies, type PlanFigures, type PlanFileSegment, type PlanStrategy } from './plan/plan-file'
export { earlierNames } from './plan/earlier-names'
export { isBroadcast } from './ops/joins'
export { type PlannedLayer } from './plan/planned-layer'
export { checkPlan, validateOrder } from './plan/rules'
export { validateHostRows, validateRematerializations, validateSegments, type UnnamedSegment } from './plan/segment-rules'
export { type ShapeRule } from './shapes/shape'
export { shapeRules } from './shapes/shape-rules'
export { trace, type TracedLayer } from './flat/trace'
export { transposedWindowOf } from './ops/transposed-convolution'
export { windowCount, windowExtent, windowOf, type Window, type WindowArguments } from './ops/window'
