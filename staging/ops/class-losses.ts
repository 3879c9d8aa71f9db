import { reductionAccess, rowReductionAccess } from '../graph/access'
import type { Extents } from '../graph/extents'
import { microBatches } from '../graph/objective'
import { arenaOperand, stepIoOperand, noOperand } from '../lowering/ir/builder'
import type { Region, TileTensor } from '../lowering/ir/tile-tensor'
import type { OpStep, StepGradients } from '../lowering/scope/op-step'
import { inStepIo, tileFields } from '../lowering/scope/regions'
import type { ModelScope, TileScope } from '../lowering/scope/scope'
import { labelBytes } from '../lowering/scope/step-io'
import { lossFunctions } from '../pointwise/loss-functions'
import { rowWeightsAt } from './losses'
import { overlapBytes, overlapsAt } from './moment-addresses'
import { plainLayout, type NodeFor, type OpLowering } from './op-lowering'
import { noLabel } from './target-weight'

/** A loss of scores whose targets are classes. */
type ClassLossNode = NodeFor<'classLoss' | 'pixelLoss' | 'overlapLoss'>

/** What the kernels are told of a tile of the scores, and where they find its classes. */
const makeClassFields = ({ stepIo }: ModelScope, { op, args, input }: ClassLossNode, source: TileTensor, region: Region) => {
  const [batch, channels, fullHeight, fullWidth] = input
  const labels: Extents = [batch, 1, fullHeight, fullWidth]
  return {
    fields: {
      ...tileFields(source),
      fullHeight,
      fullWidth,
      ignored: op === 'classLoss' ? noLabel : (args.ignore ?? 255),
      softmax: lossFunctions(args.loss, channels).softmax ? 1 : 0
    },
    operands: { source: source.address, labels: inStepIo(source, labels, region, stepIo.target, labelBytes).address },
    classWeights: args.classWeights === undefined ? noOperand : stepIoOperand(stepIo.classWeights)
  }
}

/** What the losses of single pixels take beside. */
const makeShareFields = (scope: ModelScope, region: Region) => ({
  rowWeights: rowWeightsAt(scope, region),
  normaliser: stepIoOperand(scope.stepIo.normaliser)
})

/**
 * Dice or Tversky, and by what the sum over images and classes is multiplied; nothing else has
 * them.
 */
const overlapFields = ({ graph: { objective } }: ModelScope, { args, input: [batch, channels] }: ClassLossNode) => {
  const { alpha, beta, smooth, weight } = lossFunctions(args.loss, channels).overlap ?? { alpha: 0, beta: 0, smooth: 0, weight: 0 }
  return { alpha, beta, smooth, scale: weight / (batch * microBatches(objective)) }
}

const forward = (scope: TileScope, { node, source, sourceRegion }: OpStep<ClassLossNode>): void => {
  const { fields, operands, classWeights } = makeClassFields(scope, node, source, sourceRegion)
  scope.builder.launch<'classLossForward'>(
    { kind: 'classLossForward', ...fields, expression: lossFunctions(node.args.loss, node.input[1]).forward },
    {
      ...operands,
      classWeights,
      ...makeShareFields(scope, sourceRegion),
      loss: stepIoOperand(scope.stepIo.loss)
    }
  )
}

const backward = (scope: TileScope, step: OpStep<ClassLossNode>, gradients: StepGradients): void => {
  const { node, source, sourceRegion } = step
  const { fields, operands, classWeights } = makeClassFields(scope, node, source, sourceRegion)
  const { overlap, backward: expression } = lossFunctions(node.args.loss, node.input[1])
  scope.builder.launch<'classLossBackward'>(
    { kind: 'classLossBackward', ...fields, ...overlapFields(scope, node), expression },
    {
      ...operands,
      classWeights,
      ...makeShareFields(scope, sourceRegion),
      overlaps: overlap === undefined ? noOperand : overlapsAt(scope, node, step.position, sourceRegion),
      sourceGradient: gradients.source!.address
    }
  )
}

const ofClasses = { saves: { input: 'always' }, inPlace: false, outputLayout: plainLayout, forward, backward } as const

/** A loss of the scores of images, each by its class. */
export const classLoss: OpLowering<'classLoss'> = {
  ...ofClasses,
  access: rowReductionAccess,
  inEvaluation: ({ loss }) => ({ loss })
}

/** A loss of the scores of pixels, each by its class. */
export const pixelLoss: OpLowering<'pixelLoss'> = {
  ...ofClasses,
  access: reductionAccess,
  inEvaluation: ({ loss, ignore = 255 }) => ({ loss, ignore })
}

/**
 * Sums of probabilities and targets are accumulated of each image as moments are; when they are
 * complete, backward knows from them what each pixel has to do with the loss.
 */
export const overlapLoss: OpLowering<'overlapLoss'> = {
  ...ofClasses,
  access: reductionAccess,
  inEvaluation: ({ loss, ignore = 255 }) => ({ loss, ignore }),
  overlaps: {
    bytes: ({ input: [batch, channels] }) => batch * channels * overlapBytes,
    accumulate: (scope, { node, position, source, region }) => {
      const { fields, operands } = makeClassFields(scope, node, source, region)
      scope.builder.launch<'sumOverlaps'>(
        { kind: 'sumOverlaps', ...fields },
        { ...operands, overlaps: overlapsAt(scope, node, position, region) }
      )
    },
    finish: (scope, node, position) => {
      const [images, channels] = node.input
      scope.builder.launch<'overlapLoss'>(
        { kind: 'overlapLoss', images, channels, ...overlapFields(scope, node) },
        {
          overlaps: arenaOperand(scope.moments.get(position)!),
          classWeights: node.args.classWeights === undefined ? noOperand : stepIoOperand(scope.stepIo.classWeights),
          loss: stepIoOperand(scope.stepIo.lossOfOverlap)
        }
      )
    }
  }
}
