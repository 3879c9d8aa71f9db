import { constants } from 'node:buffer'
import { type FileHandle, open, stat } from 'node:fs/promises'
import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import * as t from 'io-ts'
import { type Outcome, inputFailure, reasonOf } from '../failure'
import { writeFileAtomic } from '../files/atomic-write'

/**
 * The safetensors format (https://huggingface.co/docs/safetensors): 8 bytes of header length
 * (unsigned, little-endian), a JSON header {name: {dtype, shape, data_offsets: [begin, end]}}, then
 * the tensors' bytes without gaps. Only the header is held in memory: tensors are read and written
 * one at a time, so that a file may be larger than what a process can hold.
 */
const elementBytes = { BOOL: 1, U8: 1, I8: 1, I16: 2, U16: 2, F16: 2, BF16: 2, I32: 4, U32: 4, F32: 4, I64: 8, U64: 8, F64: 8 } as const
type ElementType = keyof typeof elementBytes

interface TensorEntry {
  readonly type: ElementType
  readonly shape: readonly number[]
  /** First byte in the file. */
  readonly offset: number
  readonly bytes: number
}

export interface TensorFile {
  readonly path: string
  readonly tensors: ReadonlyMap<string, TensorEntry>
  /** The header's __metadata__; empty where that is no object of texts. */
  readonly metadata: Metadata
}

export type Metadata = Readonly<Record<string, string>>

/** A tensor to be written; `data` is read when its turn comes. */
export interface TensorData {
  readonly name: string
  readonly type: 'F32' | 'F64' | 'I64'
  readonly shape: readonly number[]
  readonly data: ArrayBufferView
}

const Extent = t.refinement(t.number, (value) => Number.isSafeInteger(value) && value >= 0, 'non-negative integer')
const Entry = t.type({
  dtype: t.keyof(elementBytes),
  shape: t.array(Extent),
  data_offsets: t.tuple([Extent, Extent])
})
const Header = t.record(t.string, t.unknown)
const Metadata = t.record(t.string, t.string)
export const metadataKey = '__metadata__'

const maximumHeaderBytes = 100e6

const readBytes = async (file: FileHandle, offset: number, target: Uint8Array): Promise<void> => {
  for (let done = 0; done < target.length;) {
    const { bytesRead } = await file.read(target, done, Math.min(target.length - done, 2 ** 26), offset + done)
    if (bytesRead === 0) throw new Error('the file ends early')
    done += bytesRead
  }
}

const withFile = <A>(path: string, use: (file: FileHandle) => Promise<E.Either<string, A>>): Outcome<A> =>
  pipe(
    TE.tryCatch(
      async () => {
        if (!(await stat(path)).isFile()) throw new Error('it is no ordinary file')
        const file = await open(path, 'r')
        return use(file).finally(() => file.close())
      },
      (thrown) => `cannot be read (${reasonOf(thrown)})`
    ),
    TE.chainEitherK((result) => result),
    TE.mapLeft((fault) => inputFailure(`${path}: ${fault}`))
  )

const entryOf = (name: string, value: unknown, dataStart: number): E.Either<string, TensorEntry> =>
  pipe(
    Entry.decode(value),
    E.mapLeft(() => `the header's entry of ${name} is not {dtype, shape, data_offsets}, or its dtype is not supported`),
    E.chain(({ dtype, shape, data_offsets: [begin, end] }) => {
      const bytes = shape.reduce((product, extent) => product * extent, elementBytes[dtype])
      return bytes === end - begin
        ? E.right({ type: dtype, shape, offset: dataStart + begin, bytes })
        : E.left(
            `${name} of shape [${shape.join(', ')}] and dtype ${dtype} needs ${bytes} bytes but its range ${begin}..${end} holds ${end - begin}`
          )
    })
  )

const checkRanges = (
  entries: readonly (readonly [string, TensorEntry])[],
  dataStart: number,
  fileBytes: number
): E.Either<string, void> => {
  const sorted = [...entries].sort(([, a], [, b]) => a.offset - b.offset || a.bytes - b.bytes)
  let end = dataStart
  for (const [name, entry] of sorted) {
    if (entry.offset < end) return E.left(`the bytes of ${name} overlap another tensor's`)
    if (entry.offset > end) return E.left(`${entry.offset - end} bytes before ${name} belong to no tensor`)
    end += entry.bytes
  }
  if (end > fileBytes) return E.left(`the file is cut: its tensors need ${end} bytes but it has ${fileBytes}`)
  return end < fileBytes ? E.left(`the last ${fileBytes - end} bytes belong to no tensor`) : E.right(undefined)
}

const decodeHeader = (text: string, dataStart: number, fileBytes: number): E.Either<string, Omit<TensorFile, 'path'>> =>
  pipe(
    E.tryCatch(
      () => JSON.parse(text) as unknown,
      () => 'the header is not JSON; is this a safetensors file?'
    ),
    E.chain((json) =>
      pipe(
        Header.decode(json),
        E.mapLeft(() => 'the header is not a JSON object')
      )
    ),
    E.bindTo('header'),
    E.bind('entries', ({ header }) =>
      E.traverseArray(([name, value]: [string, unknown]) =>
        E.map((entry: TensorEntry) => [name, entry] as const)(entryOf(name, value, dataStart))
      )(Object.entries(header).filter(([name]) => name !== metadataKey))
    ),
    E.chainFirst(({ entries }) => checkRanges(entries, dataStart, fileBytes)),
    E.map(({ header: { [metadataKey]: metadata }, entries }) => ({
      tensors: new Map(entries),
      metadata: Metadata.is(metadata) ? metadata : {}
    }))
  )

/**
 * Reads and checks the header: lengths, dtypes, ranges that neither overlap nor leave gaps, and the
 * file's size.
 */
export const openTensorFile = (path: string): Outcome<TensorFile> =>
  withFile(path, async (file) => {
    const fileBytes = (await file.stat()).size
    if (fileBytes < 8) return E.left(`holds ${fileBytes} bytes; a safetensors file has at least 8`)
    const prefix = Buffer.alloc(8)
    await readBytes(file, 0, prefix)
    const headerBytes = Number(prefix.readBigUInt64LE())
    if (headerBytes > Math.min(fileBytes - 8, maximumHeaderBytes))
      return E.left(`its header claims ${headerBytes} bytes but the file has ${fileBytes}; is it a whole safetensors file?`)
    const header = Buffer.alloc(headerBytes)
    await readBytes(file, 8, header)
    return pipe(
      decodeHeader(header.toString('utf8'), 8 + headerBytes, fileBytes),
      E.map((found) => ({ path, ...found }))
    )
  })

const halfToNumber = (bits: number): number => {
  const [sign, exponent, fraction] = [bits >> 15 ? -1 : 1, (bits >> 10) & 31, bits & 1023]
  if (exponent === 31) return fraction ? NaN : sign * Infinity
  return exponent === 0 ? sign * fraction * 2 ** -24 : sign * (1 + fraction / 1024) * 2 ** (exponent - 15)
}

type Numbers = Float32Array | Float64Array | Int32Array | Uint8Array

const fill = (target: Numbers, source: ArrayLike<number>, convert: (value: number) => number = (value) => value): void => {
  for (let index = 0; index < target.length; index += 1) target[index] = convert(source[index]!)
}

const bfloatToNumber = (bits: number): number => {
  const view = new DataView(new ArrayBuffer(4))
  view.setUint32(0, bits << 16)
  return view.getFloat32(0)
}

/**
 * Converters of each type's bytes into the numbers of `target`; types that are absent are not read.
 */
const conversions: { readonly [T in ElementType]?: (bytes: ArrayBuffer, target: Numbers) => void } = {
  F32: (bytes, target) => target.set(new Float32Array(bytes)),
  F64: (bytes, target) => target.set(new Float64Array(bytes)),
  F16: (bytes, target) => fill(target, new Uint16Array(bytes), halfToNumber),
  BF16: (bytes, target) => fill(target, new Uint16Array(bytes), bfloatToNumber),
  U8: (bytes, target) => target.set(new Uint8Array(bytes)),
  I32: (bytes, target) => target.set(new Int32Array(bytes)),
  I64: (bytes, target) => {
    const source = new BigInt64Array(bytes)
    for (let index = 0; index < target.length; index += 1) target[index] = Number(source[index]!)
  }
}

/** A value that has become infinite on the way. */
const overflow = (source: Float64Array, target: Numbers): number | undefined =>
  source.find((value, index) => Number.isFinite(value) && !Number.isFinite(target[index]!))

/**
 * Reads one tensor into `target` (as many elements as the tensor has), converting to the target's
 * type.
 */
export const readTensor = (file: TensorFile, name: string, target: Numbers): Outcome<void> =>
  withFile(file.path, async (handle) => {
    const entry = file.tensors.get(name)
    if (entry === undefined) return E.left(`has no tensor ${name}`)
    const convert = conversions[entry.type]
    if (convert === undefined) return E.left(`${name} is ${entry.type}, which is not read; store it as F32`)
    if (entry.bytes / elementBytes[entry.type] !== target.length)
      return E.left(`${name} has ${entry.bytes / elementBytes[entry.type]} elements where ${target.length} are wanted`)
    if (entry.bytes > constants.MAX_LENGTH)
      return E.left(`${name} holds ${entry.bytes} bytes, over the ${constants.MAX_LENGTH} that Node reads at once`)
    const bytes = new Uint8Array(entry.bytes)
    await readBytes(handle, entry.offset, bytes)
    convert(bytes.buffer, target)
    const overflown = entry.type === 'F64' ? overflow(new Float64Array(bytes.buffer), target) : undefined
    if (overflown !== undefined) return E.left(`${name} holds ${overflown}, which is beyond float32`)
    return E.right(undefined)
  })

const headerOf = (tensors: readonly TensorData[], metadata: Metadata): Buffer => {
  let offset = 0
  const entries = tensors.map(({ name, type, shape, data }) => {
    const begin = offset
    offset += data.byteLength
    return [name, { dtype: type, shape, data_offsets: [begin, offset] }] as const
  })
  const text = JSON.stringify({ ...(Object.keys(metadata).length > 0 ? { [metadataKey]: metadata } : {}), ...Object.fromEntries(entries) })
  const padded = text + ' '.repeat((8 - (Buffer.byteLength(text) % 8)) % 8)
  const prefix = Buffer.alloc(8)
  prefix.writeBigUInt64LE(BigInt(Buffer.byteLength(padded)))
  return Buffer.concat([prefix, Buffer.from(padded, 'utf8')])
}

const partsOf = function* (tensors: readonly TensorData[], metadata: Metadata): Iterable<Uint8Array> {
  yield headerOf(tensors, metadata)
  for (const { data } of tensors) yield new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
}

/** Writes a tensor file whole or not at all. */
export const writeTensors = (path: string, tensors: readonly TensorData[], metadata: Metadata = {}): Outcome<void> =>
  writeFileAtomic(path, () => partsOf(tensors, metadata))
