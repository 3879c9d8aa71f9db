import type { Normalisation } from '../../graph/normalisation'
import type { TileScope } from '../scope/scope'
import type { Step } from '../scope/op-step'
import { normalisationKernel } from './normalisation-kernel'
import { sameLayout, type OpLowering } from './op-lowering'

/** Moments are gathered where the input is made, and backward takes two passes (see ../backward.ts). */
const normalisation = <P extends 'batchNorm' | 'groupNorm' | 'instanceNorm'>(): OpLowering<P> => ({
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

export const batchNorm = normalisation<'batchNorm'>()
export const groupNorm = normalisation<'groupNorm'>()
export const instanceNorm = normalisation<'instanceNorm'>()
