import { sameAccess } from '../../access'
import type { Parameter } from '../../graph'
import type { Normalisation } from '../../normalisation'
import type { Context, Step } from '../context'
import { normalisationKernel } from '../normalisation-kernel'
import { sameLayout, weightAndBias, type OpLowering } from './op-lowering'

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
  forward: (context: Context, step: Step) => {
    const { node, position, source, sourceRegion, slope, destination } = step
    const { fields, operands } = normalisationKernel(context, node as Normalisation, position, source, sourceRegion, slope)
    context.emit.launch<'normaliseForward'>({ kind: 'normaliseForward', ...fields }, { ...operands, destination: destination.address })
  },
  backward: () => {
    throw new Error('backward of a normalisation is not a step of its own')
  }
})

export const batchNorm = normalisation<'batchNorm'>(true, ['runningMean', 'runningVariance'])
export const groupNorm = normalisation<'groupNorm'>(true)
export const instanceNorm = normalisation<'instanceNorm'>(false)
