import { readFileSync } from 'node:fs'
import { join } from 'node:path'

export type Values = Float32Array | Float64Array | BigInt64Array

const arrays = { F32: Float32Array, F64: Float64Array, I64: BigInt64Array } as const

/** A golden safetensors file, read apart from the product's own reader. */
export const goldenTensors = (name: string): ReadonlyMap<string, Values> => {
  const file = readFileSync(join(__dirname, 'data', `${name}.safetensors`))
  const start = 8 + Number(file.readBigUInt64LE(0))
  const header = JSON.parse(file.toString('utf8', 8, start)) as Record<
    string,
    { dtype: keyof typeof arrays; data_offsets: [number, number] }
  >
  return new Map(
    Object.entries(header).map(
      ([
        key,
        {
          dtype,
          data_offsets: [from, to]
        }
      ]) => [key, new arrays[dtype](file.buffer.slice(file.byteOffset + start + from, file.byteOffset + start + to) as ArrayBuffer)]
    )
  )
}

/** A golden JSON file; make.py says what it holds. */
export const goldenJson = <T>(name: string): T => JSON.parse(readFileSync(join(__dirname, 'data', `${name}.json`), 'utf8')) as T
