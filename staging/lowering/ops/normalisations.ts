import { sameAccess } from '../../graph/access'
import type { Parameter } from '../../graph/graph'
import type { Normalisation } from '../../graph/normalisation'
import type { Step } from '../scope/op-step'
import { normalisationKernel } from './normalisation-kernel'
import { sameLayout, weightAndBias, type OpLowering } from './op-lowering'
import type { TileScope } from '../scope/scope'

/** Moments are gathered where the input is made, and backward takes two passes (see ../backward.ts). */
const normalisation = <P extends 'batchNorm' | 'groupNorm' | 'instanceNorm'>(
  affineByDefault: boolean,
  statistics: readonly Parameter['role'][] = []
): OpLowering<P> => ({
  access: sameAccess,
  parameters: ({ affine = affineByDefault }, channels) => [
    ...(affine ? weightAndBias([channels], channels) : []),
    ...statistics.map((role) => ({ role, shape: [channels] }))
  ],
  multiplyAdds: () => 1,
  saves: { input: 'always' },
  inPlace: true,
  fusesRectifier: true,
  outputLayout: sameLayout,
  forward: (scope: TileScope, step: Step) => {
    const { node, position, source, sourceRegion, slope, destination } = step
    const { fields, operands } = normalisationKernel(scope, node as Normalisation, position, source, sourceRegion, slope)
    scope.builder.launch<'normaliseForward'>({ kind: 'normaliseForward', ...fields }, { ...operands, destination: destination.address })
  },
  backward: () => {
    throw new Error('backward of a normalisation is not a step of its own')
  }
})

export const batchNorm = normalisation<'batchNorm'>(true, ['runningMean', 'runningVariance'])
export const groupNorm = normalisation<'groupNorm'>(true)
export const instanceNorm = normalisation<'instanceNorm'>(false)
