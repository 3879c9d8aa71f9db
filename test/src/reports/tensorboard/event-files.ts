import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { type JsonObject, createFileRegistry, fromBinary, toJson } from '@bufbuild/protobuf'
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt'
import * as assert from 'uvu/assert'

/** Descriptors of TensorBoard 2.21.0's package (Apache-2.0), which schema.py writes. */
const registry = createFileRegistry(fromBinary(FileDescriptorSetSchema, readFileSync(join(__dirname, 'schema.binpb'))))

/** A message of that schema as JSON, by another library than the one that writes. */
export const decodeMessage = <A = JsonObject>(type: string, bytes: Uint8Array): A =>
  toJson(registry.getMessage(type)!, fromBinary(registry.getMessage(type)!, bytes), { registry }) as A

/** CRC-32C bit by bit, as RFC 3720 defines it. */
const crc32c = (bytes: Uint8Array): number => {
  let crc = 0xffffffff
  for (const byte of bytes) {
    crc ^= byte
    for (let bit = 0; bit < 8; bit += 1) crc = (crc >>> 1) ^ (crc & 1 ? 0x82f63b78 : 0)
  }
  return ~crc >>> 0
}

const maskedCrc = (bytes: Uint8Array): number => {
  const crc = BigInt(crc32c(bytes))
  return Number((((crc >> 15n) | (crc << 17n)) + 0xa282ead8n) & 0xffffffffn)
}

/** Records of a TFRecord file, whose checks hold. */
const recordsOf = (file: Buffer): readonly Uint8Array[] => {
  const records: Uint8Array[] = []
  for (let at = 0; at < file.length;) {
    const length = Number(file.readBigUInt64LE(at))
    assert.is(file.readUInt32LE(at + 8), maskedCrc(file.subarray(at, at + 8)))
    const data = file.subarray(at + 12, at + 12 + length)
    assert.is(file.readUInt32LE(at + 12 + length), maskedCrc(data))
    records.push(data)
    at += 16 + length
  }
  return records
}

/** A value of a summary; what is not in it is absent, and a 0 is there. */
export interface SummaryValue {
  readonly tag: string
  readonly simpleValue?: number
  readonly image?: { readonly height: number; readonly width: number; readonly colorspace: number; readonly encodedImageString: string }
  readonly tensor?: { readonly dtype: string; readonly stringVal: readonly string[] }
  readonly metadata?: { readonly pluginData: { readonly pluginName: string; readonly content?: string } }
}

/** An event; a step of 0 is absent. */
export interface FileEvent {
  readonly step?: string
  readonly fileVersion?: string
  readonly graphDef?: string
  readonly summary?: { readonly value: readonly SummaryValue[] }
  readonly sessionLog?: { readonly status: string }
}

/** The events of all event files in a folder, in the order of the files' names. */
export const eventsIn = (folder: string): readonly FileEvent[] =>
  readdirSync(folder)
    .sort()
    .flatMap((file) => recordsOf(readFileSync(join(folder, file))))
    .map((record) => decodeMessage<FileEvent>('tensorboard.Event', record))

/** All values of summaries, with their steps. */
export const summaries = (events: readonly FileEvent[]): readonly (SummaryValue & { readonly step: number })[] =>
  events.flatMap(({ step = '0', summary }) => (summary?.value ?? []).map((value) => ({ ...value, step: Number(step) })))
