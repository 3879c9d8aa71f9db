import type { TensorData } from '../../src/weights/safetensors'

/** A float32 tensor of one value, for a file. */
export const filledTensor = (name: string, shape: readonly number[], value = 0): TensorData => ({
  name,
  type: 'F32',
  shape,
  data: new Float32Array(shape.reduce((product, extent) => product * extent, 1)).fill(value)
})
