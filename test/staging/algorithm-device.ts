import { isConvolution, layoutCode, referenceModel, type ConvolutionKernel, type DeviceModel } from '../../staging'
import { cudnnAlgorithm } from '../../staging/devices/algorithms'

/**
 * cuDNN's numbers by kind of convolution; the share of algorithm 0's time; bytes of scratch, in any
 * case and an output element.
 */
const choices = [
  { numbers: [5, 3, 6], share: 0.3, fixedBytes: 2 ** 19, bytesPerOutput: 24 },
  { numbers: [7, 5, 5], share: 0.4, fixedBytes: 2 ** 17, bytesPerOutput: 8 },
  { numbers: [1, 1, 1], share: 0.7, fixedBytes: 2 ** 10, bytesPerOutput: 0 }
] as const

const kinds: readonly string[] = ['convolutionForward', 'convolutionBackwardData', 'convolutionBackwardWeights']

const choiceOf = (kernel: ConvolutionKernel) =>
  choices.find(({ numbers }) => cudnnAlgorithm(numbers[kinds.indexOf(kernel.kind)]!) === kernel.algorithm)

const scratchBytes = (kernel: ConvolutionKernel): number => {
  const { fixedBytes, bytesPerOutput } = choiceOf(kernel) ?? { fixedBytes: 0, bytesPerOutput: 0 }
  return fixedBytes + bytesPerOutput * kernel.batch * kernel.outChannels * kernel.outHeight * kernel.outWidth
}

/**
 * A device as cuda is: channels innermost, and algorithms that are faster the more scratch they
 * take: by FFT, Winograd, and products.
 */
export const algorithmDevice = (): DeviceModel => {
  const device = referenceModel('float32')
  return {
    ...device,
    name: 'algorithms',
    activationLayout: (_, input) => (input ? 'plain' : 'nhwc'),
    weightLayouts: () => ({ stored: 'ohwi', forward: 'ohwi', backwardData: 'ohwi' }),
    algorithms: (kernel) =>
      choices.map(({ numbers }) => {
        const algorithm = cudnnAlgorithm(numbers[kinds.indexOf(kernel.kind)]!)
        return { algorithm, scratchBytes: scratchBytes({ ...kernel, algorithm }) }
      }),
    scratchBytes: (kernel) => (isConvolution(kernel) ? scratchBytes(kernel) : 0),
    milliseconds: (kernel) => device.milliseconds(kernel) * (isConvolution(kernel) ? (choiceOf(kernel)?.share ?? 1) : 1)
  }
}

export const nhwc = layoutCode('nhwc')
