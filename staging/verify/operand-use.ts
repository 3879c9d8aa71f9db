import type { Kernel, KernelKind, OperandsOf } from '../kernels'

/** Kernels that work element by element, so that what they write may be exactly what they read: any of these operands. */
const inPlace: { readonly [K in KernelKind]?: readonly OperandsOf<K>[] } = {
  rectifierForward: ['source'],
  rectifierBackward: ['destination', 'destinationGradient'],
  dropout: ['source'],
  normaliseForward: ['source'],
  normaliseBackward: ['destinationGradient'],
  addForward: ['first', 'second'],
  activationForward: ['source'],
  activationBackward: ['destinationGradient']
}

/** Whether a kernel may write in the very place where it reads this operand. */
export const worksInPlace = (kernel: Kernel, operand: string): boolean =>
  ((inPlace[kernel.kind] ?? []) as readonly string[]).includes(operand) && !(kernel.kind === 'normaliseBackward' && kernel.add === 1)

/** Operands that may be absent, whatever the kernel. */
const optional: readonly string[] = ['bias', 'biasGradient', 'scratch', 'velocity', 'rowWeights', 'classWeights']
const optionalOf: { readonly [K in KernelKind]?: readonly OperandsOf<K>[] } = {
  normaliseForward: ['weights'],
  normaliseSums: ['weights'],
  normaliseBackward: ['weights', 'sums']
}

export const isOptional = (kind: KernelKind, operand: string): boolean =>
  optional.includes(operand) || ((optionalOf[kind] ?? []) as readonly string[]).includes(operand)
