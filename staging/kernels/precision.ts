/**
 * The type in which activations and their gradients are stored. With bf16 (8 bits of mantissa)
 * everything else stays float32: parameters with their gradients and optimizer state, and step
 * inputs and outputs; kernels compute and sum in float32 or float64, and round what they store.
 */
export type Precision = 'float32' | 'float64' | 'bf16'

/**
 * The precision in which a device computes. tf32: values of float32, of which products see 10 bits
 * of mantissa.
 */
export type DevicePrecision = Precision | 'tf32'

/** The type in which activations are stored by a device that computes in a precision. */
export const storedPrecision = (precision: DevicePrecision): Precision => (precision === 'tf32' ? 'float32' : precision)

/** The type of parameters, their gradients and optimizer state, and of what steps take and give. */
export const parameterType = (precision: Precision): 'float32' | 'float64' => (precision === 'bf16' ? 'float32' : precision)

/** Bytes of an element of an activation or its gradient, and of an element of a parameter. */
export interface ElementSizes {
  readonly activationBytes: number
  readonly parameterBytes: number
}

/** Bytes of an element by precision. */
export const elementSizes = (precision: Precision): ElementSizes => {
  const parameterBytes = parameterType(precision) === 'float64' ? 8 : 4
  return { activationBytes: precision === 'bf16' ? 2 : parameterBytes, parameterBytes }
}
