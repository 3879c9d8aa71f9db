// What the cuda device answers of convolutions, on a GPU or its emulation.
import { openDevice } from '../../native/addon/addon'
import { algorithmsAnswer, bytesAnswer, encodeToFloats, unwrapAnswer } from '../../native/devices/device-answers'
import type { ConvolutionKernel } from '../../staging/kernels/kernels'
import { must } from '../must'

export const askCuda = (precision: 'float32' | 'tf32' | 'bf16') => {
  const device = must(openDevice({ device: 'cuda', precision, threads: 1 }))
  return {
    algorithms: (kernel: ConvolutionKernel) => unwrapAnswer(algorithmsAnswer(device.algorithms(encodeToFloats(kernel)))),
    scratchBytes: (kernel: ConvolutionKernel) => unwrapAnswer(bytesAnswer(device.scratchBytes(encodeToFloats(kernel))))
  }
}
