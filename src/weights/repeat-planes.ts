import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import type { Parameter } from '../../staging/graph/graph'
import type { Outcome } from '../failure'
import type { Numbers } from '../../native'
import type { StoredTensor, WeightFile } from './weight-file'

/** Channels of the images that weights are trained on elsewhere. */
const rgb = 3

interface Planes {
  readonly name: string
  readonly kernels: number
  readonly channels: number
  /** Elements of a plane. */
  readonly elements: number
}

/** A first convolution of other than 3 channels for which the file has kernels of 3. */
const findPlanes = ({ tensors }: WeightFile, parameters: readonly Parameter[]): Planes | undefined => {
  const first = parameters.find(({ shape }) => shape.length === 4)
  const stored = first && tensors.get(first.name)
  if (first === undefined || stored?.shape.length !== 4) return undefined
  const [kernels, channels, ...plane] = first.shape as readonly [number, number, number, number]
  const isOther = channels !== rgb && [kernels, rgb, ...plane].join() === stored.shape.join()
  return isOther ? { name: first.name, kernels, channels, elements: plane[0] * plane[1] } : undefined
}

const fill = (target: Numbers, stored: Float32Array, { kernels, channels, elements }: Planes): void => {
  const storedAt = (kernel: number, plane: number, at: number): number => stored[(kernel * rgb + plane) * elements + at]!
  for (let kernel = 0; kernel < kernels; kernel += 1)
    for (let channel = 0; channel < channels; channel += 1)
      for (let at = 0; at < elements; at += 1)
        target[(kernel * channels + channel) * elements + at] =
          channels === 1
            ? storedAt(kernel, 0, at) + storedAt(kernel, 1, at) + storedAt(kernel, 2, at)
            : (storedAt(kernel, channel % rgb, at) * rgb) / channels
}

/** Weights of 3 channels for a network of n, and a sentence on it; as they are where they fit. */
export interface FittedFile {
  readonly file: WeightFile
  readonly notice?: string
}

/**
 * Lets a first convolution of n channels be read from kernels of 3: channel c takes plane c modulo
 * 3 of its kernel, times 3 / n; a single channel takes the sum of the three (as timm does).
 */
export const fitInputChannels = (file: WeightFile, parameters: readonly Parameter[]): FittedFile => {
  const planes = findPlanes(file, parameters)
  if (planes === undefined) return { file }
  const { name, channels, kernels, elements } = planes
  const stored = file.tensors.get(name)!
  const fitted: StoredTensor = { ...stored, shape: [stored.shape[0]!, channels, ...stored.shape.slice(2)] }
  const read = (tensor: string, target: Numbers): Outcome<void> => {
    if (tensor !== name) return file.read(tensor, target)
    const kept = new Float32Array(kernels * rgb * elements)
    return pipe(
      file.read(name, kept),
      TE.map(() => fill(target, kept, planes))
    )
  }
  return {
    file: { ...file, tensors: new Map([...file.tensors, [name, fitted]]), read },
    notice:
      channels === 1
        ? `${name} of ${file.path} has 3 channels: its planes are added up for the one of the input`
        : `${name} of ${file.path} has 3 channels: its planes are repeated for the ${channels} of the input, and scaled by 3/${channels}`
  }
}
