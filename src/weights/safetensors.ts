import { crc32 } from 'node:zlib'
import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import * as t from 'io-ts'
import type { Outcome } from '../failure'
import { writeFileAtomic } from '../files/atomic-write'
import { type ElementType, type Target, checkElements, convertElements, elementBytes } from './element-types'
import { identify, readBytes, readRange, withFile, withSameFile } from './file-bytes'

/**
 * The safetensors format (https://huggingface.co/docs/safetensors): 8 bytes of header length
 * (unsigned, little-endian), a JSON header {name: {dtype, shape, data_offsets: [begin, end]}}, then
 * the tensors' bytes without gaps. Only the header is held in memory: tensors are read and written
 * one at a time, so that a file may be larger than what a process can hold.
 */
interface TensorEntry {
  readonly type: ElementType
  readonly shape: readonly number[]
  /** First byte in the file. */
  readonly offset: number
  readonly bytes: number
}

/** The header of a safetensors file, whose tensors are read one by one. */
export interface TensorFile {
  readonly path: string
  /** Of the file whose header it is: see `identify`. */
  readonly identity: string
  readonly tensors: ReadonlyMap<string, TensorEntry>
  /** The header's __metadata__; empty where that is no object of texts. */
  readonly metadata: Metadata
}

/** What a safetensors file says of itself: texts by name. */
export type Metadata = Readonly<Record<string, string>>

/** A tensor to be written; `data` is read when its turn comes. */
export interface TensorData {
  readonly name: string
  readonly type: 'F32' | 'F64' | 'I64'
  readonly shape: readonly number[]
  readonly data: ArrayBufferView
}

/** A tensor to be written, or a text as bytes. */
export type WrittenTensor = TensorData | (Omit<TensorData, 'type'> & { readonly type: 'U8' })

const Extent = t.refinement(t.number, (value) => Number.isSafeInteger(value) && value >= 0, 'non-negative integer')
const Entry = t.type({
  dtype: t.keyof(elementBytes),
  shape: t.array(Extent),
  data_offsets: t.tuple([Extent, Extent])
})
const Header = t.record(t.string, t.unknown)
const Metadata = t.record(t.string, t.string)
/** The name in a safetensors header under which its metadata stand, which no tensor has. */
export const metadataKey = '__metadata__'

/** Those of a thousand tensors have 100 kB; parsed, one takes fifty times as much memory. */
const maximumHeaderBytes = 20e6

const decodeEntry = (name: string, value: unknown, dataStart: number): E.Either<string, TensorEntry> =>
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

const decodeHeader = (text: string, dataStart: number, fileBytes: number): E.Either<string, Pick<TensorFile, 'tensors' | 'metadata'>> =>
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
        E.map((entry: TensorEntry) => [name, entry] as const)(decodeEntry(name, value, dataStart))
      )(Object.entries(header).filter(([name]) => name !== metadataKey))
    ),
    E.chainFirst(({ entries }) => checkRanges(entries, dataStart, fileBytes)),
    E.map(({ header: { [metadataKey]: metadata }, entries }) => ({
      tensors: new Map(entries),
      metadata: Metadata.is(metadata) ? metadata : {}
    }))
  )

/**
 * Reads and checks the header: its length, of `mostBytes` at most, dtypes, ranges that neither
 * overlap nor leave gaps, and the file's size.
 */
export const openTensorFile = (path: string, mostBytes = maximumHeaderBytes): Outcome<TensorFile> =>
  withFile(path, async (file) => {
    const [identity, fileBytes] = [await identify(file), (await file.stat()).size]
    if (fileBytes < 8) return E.left(`holds ${fileBytes} bytes; a safetensors file has at least 8`)
    const prefix = Buffer.alloc(8)
    await readBytes(file, 0, prefix)
    const headerBytes = Number(prefix.readBigUInt64LE())
    if (headerBytes > fileBytes - 8)
      return E.left(`its header claims ${headerBytes} bytes but the file has ${fileBytes}: it is cut, or no safetensors file`)
    if (headerBytes > mostBytes)
      return E.left(`its header claims ${headerBytes} bytes, over the ${mostBytes} that are read: is this a safetensors file?`)
    const header = Buffer.alloc(headerBytes)
    await readBytes(file, 8, header)
    return pipe(
      decodeHeader(header.toString('utf8'), 8 + headerBytes, fileBytes),
      E.map((found) => ({ path, identity, ...found }))
    )
  })

/**
 * Reads one tensor into `target` (as many elements as the tensor has), converting to the target's
 * type.
 */
export const readTensor = (file: TensorFile, name: string, target: Target): Outcome<void> =>
  withSameFile(file.path, file.identity, async (handle) => {
    const entry = file.tensors.get(name)
    if (entry === undefined) return E.left(`has no tensor ${name}`)
    const { type, offset, bytes } = entry
    const fits = checkElements(name, type, bytes / elementBytes[type], target)
    if (E.isLeft(fits)) return fits
    return E.chain((read: ArrayBuffer) => convertElements(name, type, read, target))(await readRange(handle, name, offset, bytes))
  })

const asBytes = ({ buffer, byteOffset, byteLength }: ArrayBufferView): Uint8Array => new Uint8Array(buffer, byteOffset, byteLength)

/** As much as is read, or added to a checksum, at once. */
const chunkBytes = 2 ** 26

/** A CRC-32 of more bytes; zlib counts those of a call by 32 bits. */
const addToChecksum = (checksum: number, bytes: Uint8Array): number => {
  let sum = checksum
  for (let done = 0; done < bytes.length; done += chunkBytes) sum = crc32(bytes.subarray(done, done + chunkBytes), sum)
  return sum
}

const checksumText = (checksum: number): string => checksum.toString(16).padStart(8, '0')

/** The metadata by which `checkTensors` sees damage: the CRC-32 of all tensors' bytes. */
export const checksumMetadata = (tensors: readonly WrittenTensor[]): Metadata => ({
  crc32: checksumText(tensors.reduce((sum, { data }) => addToChecksum(sum, asBytes(data)), 0))
})

/**
 * Reads all of a file's tensors, and fails with code `input` where they have not the checksum of
 * its metadata; without one there is nothing to check.
 */
export const checkTensors = ({ path, identity, tensors, metadata: { crc32: written } }: TensorFile): Outcome<void> => {
  if (written === undefined) return TE.right(undefined)
  return withSameFile(path, identity, async (file) => {
    const { size } = await file.stat()
    const chunk = Buffer.alloc(Math.min(chunkBytes, size))
    let sum = 0
    for (let at = Math.min(size, ...[...tensors.values()].map(({ offset }) => offset)); at < size; at += chunkBytes) {
      const bytes = chunk.subarray(0, size - at)
      await readBytes(file, at, bytes)
      sum = addToChecksum(sum, bytes)
    }
    return checksumText(sum) === written
      ? E.right(undefined)
      : E.left(`is damaged: its tensors have the CRC-32 ${checksumText(sum)}, and had ${written} when they were written`)
  })
}

const encodeHeader = (tensors: readonly WrittenTensor[], metadata: Metadata): Buffer => {
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

const encodeParts = function* (tensors: readonly WrittenTensor[], metadata: Metadata): Iterable<Uint8Array> {
  yield encodeHeader(tensors, metadata)
  for (const { data } of tensors) yield asBytes(data)
}

/** Writes a tensor file whole or not at all. */
export const writeTensors = (path: string, tensors: readonly WrittenTensor[], metadata: Metadata = {}): Outcome<void> =>
  writeFileAtomic(path, () => encodeParts(tensors, metadata))
