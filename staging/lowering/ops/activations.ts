import { tileFields } from '../tensors'
import { sameLayout, type OpLowering } from './op-lowering'

/** The kernels' codes, and what backward reads. */
const functions = {
  sigmoid: { code: 0, keeps: { output: true } },
  tanh: { code: 1, keeps: { output: true } },
  silu: { code: 2, keeps: { input: 'always' } },
  gelu: { code: 3, keeps: { input: 'always' } }
} as const

const activation = <P extends keyof typeof functions>(op: P): OpLowering<P> => {
  const { code, keeps } = functions[op]
  return {
    keeps,
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
          kept: 'output' in keeps ? step.destination.address : step.source.address,
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
