import { openTensorFile, readTensor } from '../../src/weights/safetensors'
import { valueOf } from './outcome'

export type Weights = ReadonlyMap<string, Float64Array>

/** Every tensor of a weights file, in float64. */
export const weightsOf = async (path: string): Promise<Weights> => {
  const file = await valueOf(openTensorFile(path))
  const entries = [...file.tensors].map(async ([name, { shape }]) => {
    const values = new Float64Array(shape.reduce((product, extent) => product * extent, 1))
    await valueOf(readTensor(file, name, values))
    return [name, values] as const
  })
  return new Map(await Promise.all(entries))
}
