import { map } from 'fp-ts/Record'
import { convolutionKernels } from './families/convolution'
import { linearKernels } from './families/linear'
import { lossKernels } from './families/loss'
import { movementKernels } from './families/movement'
import { normalisationKernels } from './families/normalisation'
import { normalisedConvolutionKernels } from './families/normalised-convolution'
import { optimizerKernels } from './families/optimizer'
import { pointwiseKernels } from './families/pointwise'
import { poolingKernels } from './families/pooling'
import { resamplingKernels } from './families/resampling'
import type { KernelRow } from './kernel-row'

/**
 * Every kernel that a device implements, by families: `npm run generate` writes the same in C++
 * (native/src/generated). The order of the rows is the kernel's code in a Program.
 *
 * Where activations have another type than parameters (Precision in program.ts), tiles and their
 * gradients have the activations', as have the weights that convolutions and linear layers read,
 * unless Winograd reads them; all other operands have the parameters': biases, gradients of
 * parameters, weights of normalisations, a pixel sum that tiles add to, and the plain tensor of
 * packTile and unpackAddTile.
 */
export const kernelTable = {
  ...convolutionKernels,
  ...linearKernels,
  ...pointwiseKernels,
  ...poolingKernels,
  ...normalisationKernels,
  ...resamplingKernels,
  ...movementKernels,
  ...lossKernels,
  ...optimizerKernels,
  ...normalisedConvolutionKernels
}

/** The name of a kernel. */
export type KernelKind = keyof typeof kernelTable
/** The names of all kernels; a name's position is its code in a Program. */
export const kernelKinds = Object.keys(kernelTable) as readonly KernelKind[]

const kernelCodes: ReadonlyMap<KernelKind, number> = new Map(kernelKinds.map((kind, code) => [kind, code]))

/** Names of each kernel's fields, in order. */
const fieldNames = map(({ fields }: KernelRow): readonly string[] => Object.keys(fields))<KernelKind>(kernelTable)

type FieldsOf<K extends KernelKind> = (typeof kernelTable)[K]['fields']
/** The names of a kernel's operands. */
export type OperandsOf<K extends KernelKind> = keyof (typeof kernelTable)[K]['operands']

type Kernels = {
  [K in KernelKind]: { readonly kind: K } & {
    readonly [F in keyof FieldsOf<K>]: FieldsOf<K>[F] extends 'numbers' ? readonly number[] : number
  }
}
/** One kernel with all its numbers fixed; a Program holds each distinct one once. */
export type KernelOf<K extends KernelKind> = Kernels[K]
/** A kernel of any kind, with its fields. */
export type Kernel = Kernels[KernelKind]
/** A kernel for which devices have several algorithms. */
export type ConvolutionKernel = Extract<Kernel, { readonly algorithm: number }>

/** Tells whether devices have several algorithms for a kernel. */
export const isConvolution = (kernel: Kernel): kernel is ConvolutionKernel => 'algorithm' in kernel

/** Tells whether a kernel may have scratch on the cpu device. */
export const takesScratch = ({ kind }: Kernel): boolean => 'scratch' in getKernelRow(kind).operands

/** A kernel's fields by their names, whatever its kind. */
export const getFields = (kernel: Kernel): Readonly<Record<string, number | readonly number[] | undefined>> =>
  // `kind` is a text, and no field's name.
  kernel as unknown as Readonly<Record<string, number | readonly number[] | undefined>>

/**
 * [code, ...fields in the table's order]: what a device decodes. A list of numbers has its length
 * before it.
 */
export const encodeKernel = (kernel: Kernel): readonly number[] => {
  const values = getFields(kernel)
  const numbers = [kernelCodes.get(kernel.kind)!]
  for (const field of fieldNames[kernel.kind]) {
    const value = values[field]!
    if (typeof value === 'number') numbers.push(value)
    else numbers.push(value.length, ...value)
  }
  return numbers
}

/** A kernel's numbers as a key for what is remembered by kernel. */
export const keyOfKernel = (kernel: Kernel): string => encodeKernel(kernel).join()

/** What is declared of a kernel, whichever it is. */
export const getKernelRow = (kind: KernelKind): KernelRow => kernelTable[kind]

/** Tells whether a launch of a kernel may leave an operand out. */
export const isOptional = (kind: KernelKind, operand: string): boolean => (getKernelRow(kind).optional ?? []).includes(operand)

/** Whether a kernel may write in the very place where it reads this operand. */
export const worksInPlace = (kernel: Kernel, operand: string): boolean =>
  (getKernelRow(kernel.kind).inPlace ?? []).includes(operand) && !('add' in kernel && kernel.add === 1)
