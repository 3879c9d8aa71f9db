import * as E from 'fp-ts/Either'

/** Types of tensors in files, as safetensors calls them, and the bytes of an element. */
export const elementBytes = {
  BOOL: 1,
  U8: 1,
  I8: 1,
  I16: 2,
  U16: 2,
  F16: 2,
  BF16: 2,
  I32: 4,
  U32: 4,
  F32: 4,
  I64: 8,
  U64: 8,
  F64: 8
} as const
/** The type of a tensor's elements in a file. */
export type ElementType = keyof typeof elementBytes

/** The arrays that tensors are read into. */
export type Target = Float32Array | Float64Array | Int32Array | Uint8Array

const halfToNumber = (bits: number): number => {
  const [sign, exponent, fraction] = [bits >> 15 ? -1 : 1, (bits >> 10) & 31, bits & 1023]
  if (exponent === 31) return fraction ? NaN : sign * Infinity
  return exponent === 0 ? sign * fraction * 2 ** -24 : sign * (1 + fraction / 1024) * 2 ** (exponent - 15)
}

/** All half-precision numbers by their bits, made when first asked for. */
let halves: Float32Array | undefined

const decodeHalves = (bits: Uint16Array, target: Target): void => {
  halves ??= Float32Array.from({ length: 2 ** 16 }, (_, index) => halfToNumber(index))
  for (let index = 0; index < target.length; index += 1) target[index] = halves[bits[index]!]!
}

/** A bfloat16 is the upper half of a float32. One by one: tensors are larger than the heap. */
const decodeBfloats = (bits: Uint16Array, target: Target): void => {
  const whole = new Uint32Array(1)
  const value = new Float32Array(whole.buffer)
  for (let index = 0; index < target.length; index += 1) {
    whole[0] = bits[index]! << 16
    target[index] = value[0]!
  }
}

/**
 * Converters of each type's bytes into the numbers of `target`; types that are absent are not read.
 */
const conversions: { readonly [T in ElementType]?: (bytes: ArrayBuffer, target: Target) => void } = {
  F32: (bytes, target) => target.set(new Float32Array(bytes)),
  F64: (bytes, target) => target.set(new Float64Array(bytes)),
  F16: (bytes, target) => decodeHalves(new Uint16Array(bytes), target),
  BF16: (bytes, target) => decodeBfloats(new Uint16Array(bytes), target),
  U8: (bytes, target) => target.set(new Uint8Array(bytes)),
  I32: (bytes, target) => target.set(new Int32Array(bytes)),
  I64: (bytes, target) => {
    const source = new BigInt64Array(bytes)
    for (let index = 0; index < target.length; index += 1) target[index] = Number(source[index]!)
  }
}

/** A value that has become infinite on the way. */
const overflow = (source: Float64Array, target: Target): number | undefined =>
  source.find((value, index) => Number.isFinite(value) && !Number.isFinite(target[index]!))

/** Checks that elements of a type can be read into so many numbers; otherwise a sentence. */
export const checkElements = (name: string, type: ElementType, elements: number, target: Target): E.Either<string, void> => {
  if (conversions[type] === undefined) return E.left(`${name} is ${type}, which is not read; store it as F32`)
  return elements === target.length ? E.right(undefined) : E.left(`${name} has ${elements} elements where ${target.length} are wanted`)
}

/**
 * Converts the bytes of a tensor's elements into as many numbers: float16 and bfloat16 exactly,
 * float64 rounded to the target's type. A finite number that is too large for it is refused.
 */
export const convertElements = (name: string, type: ElementType, bytes: ArrayBuffer, target: Target): E.Either<string, void> => {
  conversions[type]?.(bytes, target)
  const overflown = type === 'F64' ? overflow(new Float64Array(bytes), target) : undefined
  return overflown === undefined ? E.right(undefined) : E.left(`${name} holds ${overflown}, which is beyond float32`)
}
