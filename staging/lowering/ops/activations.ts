import { sameAccess } from '../../access'
import { tileFields } from '../tensors'
import { sameLayout, type OpLowering } from './op-lowering'

/** The kernels' codes, and what backward reads. */
const functions = {
  sigmoid: { code: 0, saves: { output: true } },
  tanh: { code: 1, saves: { output: true } },
  silu: { code: 2, saves: { input: 'always' } },
  gelu: { code: 3, saves: { input: 'always' } }
} as const

const activation = <P extends keyof typeof functions>(op: P): OpLowering<P> => {
  const { code, saves } = functions[op]
  return {
    access: sameAccess,
    saves,
    inPlace: true,
    outputLayout: sameLayout,
    forward: ({ emit }, { source, destination }) =>
      emit.launch<'activationForward'>(
        { kind: 'activationForward', function: code, ...tileFields(source) },
        { source: source.address, destination: destination.address }
      ),
    backward: ({ emit }, step, { destination, source }) =>
      emit.launch<'activationBackward'>(
        { kind: 'activationBackward', function: code, ...tileFields(source!) },
        {
          kept: 'output' in saves ? step.destination.address : step.source.address,
          destinationGradient: destination!.address,
          sourceGradient: source!.address
        }
      )
  }
}

export const sigmoid = activation('sigmoid')
export const tanh = activation('tanh')
export const silu = activation('silu')
export const gelu = activation('gelu')
