import * as assert from 'uvu/assert'
import type { Tensors } from '../golden/execute'

const bytesOf = (tensors: Tensors): readonly (readonly [string, Buffer])[] =>
  [...tensors].map(([name, values]) => [name, Buffer.from(values.buffer.slice(values.byteOffset, values.byteOffset + values.byteLength))])

/** Tensors of the same names are the same to the bit. */
export const assertSameBits = (a: Tensors, b: Tensors, what: string): void => {
  assert.is(a.size, b.size, what)
  for (const [name, bytes] of bytesOf(a)) assert.ok(new Map(bytesOf(b)).get(name)!.equals(bytes), `${name} has other bits ${what}`)
}
