import type { ConvolutionAlgorithm, ConvolutionKernel } from '../../staging'
import type { GpuAnswers, GpuPrecision } from '../../staging/devices/gpu-model'
import { elementSizes, storedPrecision } from '../../staging/kernels/precision'

/**
 * cuDNN's numbers by kind of convolution, fastest first, and bytes of workspace an output element.
 */
const ways = {
  convolutionForward: [
    [6, 3],
    [1, 0],
    [7, 8],
    [5, 12]
  ],
  convolutionBackwardData: [
    [5, 8],
    [1, 0],
    [2, 12]
  ],
  convolutionBackwardWeights: [
    [5, 8],
    [1, 4],
    [2, 12]
  ]
} as const

/** Workspace, and a copy of the source where its padding differs on both sides. */
const bytesOf = (k: ConvolutionKernel, elementBytes: number): number => {
  const [, workspace] = ways[k.kind].find(([number]) => k.algorithm === 16 + number) ?? [0, 0]
  const isCopied = k.padTop !== k.padBottom || k.padLeft !== k.padRight
  const copy = isCopied ? elementBytes * k.batch * k.inChannels * (k.inHeight + 2) * (k.inWidth + 2) : 0
  return copy + workspace * k.batch * k.outChannels * k.outHeight * k.outWidth
}

/** A GPU's answers without a GPU, and how often each question was asked. */
export const gpuDouble = (
  precision: GpuPrecision = 'float32'
): { readonly answers: GpuAnswers; readonly asked: { algorithms: number; scratchBytes: number } } => {
  const asked = { algorithms: 0, scratchBytes: 0 }
  const { activationBytes } = elementSizes(storedPrecision(precision))
  return {
    asked,
    answers: {
      precision,
      rates: { flopsPerSecond: 3e13, bytesPerSecond: 3.8e12, launchSeconds: 3e-6, multiprocessors: 132 },
      layouts: { input: 'plain', activation: 'plain', weights: { forward: 'plain', backwardData: 'plain' } },
      algorithms: (kernel) => {
        asked.algorithms += 1
        return ways[kernel.kind].map(([number]): ConvolutionAlgorithm => {
          const algorithm = 16 + number
          return { algorithm, scratchBytes: bytesOf({ ...kernel, algorithm }, activationBytes) }
        })
      },
      scratchBytes: (kernel) => {
        asked.scratchBytes += 1
        return bytesOf(kernel, activationBytes)
      }
    }
  }
}
