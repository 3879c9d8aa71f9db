import { sameAccess } from '../graph/access'
import type { Parameter, Statistics } from '../graph/graph'
import type { NormalisationNode } from '../graph/statistics'
import type { OpStep } from '../lowering/scope/op-step'
import { normalisationKernel } from './normalisation-kernel'
import { sameLayout, weightAndBias, type OpLowering } from './op-lowering'
import type { TileScope } from '../lowering/scope/scope'

/**
 * Moments are accumulated where the input is made, and backward takes two passes (see
 * reduction-backward.ts).
 */
const normalisation = <P extends 'batchNorm' | 'groupNorm' | 'instanceNorm'>(
  own: Pick<OpLowering<P>, 'statistics' | 'inEvaluation'>,
  affineByDefault: boolean,
  running: readonly Parameter['role'][] = []
): OpLowering<P> => ({
  ...own,
  access: sameAccess,
  parameters: ({ affine = affineByDefault }, channels) => [
    ...(affine ? weightAndBias([channels], channels) : []),
    ...running.map((role) => ({ role, shape: [channels] }))
  ],
  multiplyAdds: () => 1,
  saves: { input: 'always' },
  inPlace: true,
  fusesRectifier: 'both',
  outputLayout: sameLayout,
  forward: (scope: TileScope, step: OpStep) => {
    const { node, position, source, sourceRegion, slope, destination } = step
    const { fields, operands } = normalisationKernel(scope, node as NormalisationNode, position, source, sourceRegion, slope)
    scope.builder.launch<'normaliseForward'>({ kind: 'normaliseForward', ...fields }, { ...operands, destination: destination.address })
  },
  backward: 'reduction'
})

/** Statistics of each image by itself. */
const ofImages = (groups: number, eps = 1e-5): Statistics => ({ groups, perImage: 1, epsilon: eps, fromInput: true, momentum: undefined })

/**
 * Normalises each channel over the batch, and learns running statistics; with these alone where it
 * is frozen.
 */
export const batchNorm = normalisation<'batchNorm'>(
  {
    statistics: ({ eps = 1e-5, momentum = 0.1, frozen = false }, channels) => ({
      groups: channels,
      perImage: 0,
      epsilon: eps,
      fromInput: !frozen,
      momentum
    }),
    inEvaluation: (args) => ({ ...args, frozen: true })
  },
  true,
  ['runningMean', 'runningVariance']
)
/** Normalises groups of channels of each image. */
export const groupNorm = normalisation<'groupNorm'>({ statistics: ({ groups, eps }) => ofImages(groups, eps) }, true)
/** Normalises each channel of each image; without weight and bias unless they are asked for. */
export const instanceNorm = normalisation<'instanceNorm'>({ statistics: ({ eps }, channels) => ofImages(channels, eps) }, false)
