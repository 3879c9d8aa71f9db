import { spawnSync } from 'node:child_process'
import { readFileSync, readdirSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as fc from 'fast-check'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { type TensorData, openTensorFile, readTensor, writeTensors } from '../../../src/weights/safetensors'
import { propertyRuns } from '../../property-runs'
import { root } from '../command-line'
import { failureOf, valueOf } from '../outcome'
import { temporaryFolder } from '../temporary-folder'

const folder = temporaryFolder()
const path = join(folder, 'weights.safetensors')

/** A file with this header and so many bytes of data. */
const writeRaw = (header: string, dataBytes: number, claimed = Buffer.byteLength(header)): void => {
  const prefix = Buffer.alloc(8)
  prefix.writeBigUInt64LE(BigInt(claimed))
  writeFileSync(path, Buffer.concat([prefix, Buffer.from(header), Buffer.alloc(dataBytes)]))
}

const entry = (begin: number, end: number, shape: readonly number[] = [(end - begin) / 4], dtype = 'F32') => ({
  dtype,
  shape,
  data_offsets: [begin, end]
})

test('what is written is read back, names, shapes and bits', async () => {
  const tensors = fc.uniqueArray(fc.tuple(fc.string({ minLength: 1 }), fc.array(fc.double(), { maxLength: 20 }), fc.boolean()), {
    selector: ([name]) => name,
    maxLength: 8
  })
  await fc.assert(
    fc.asyncProperty(tensors, async (drawn) => {
      const written = drawn
        .filter(([name]) => name !== '__metadata__' && name !== '__proto__')
        .map(([name, values, wide]): TensorData => ({
          name,
          type: wide ? 'F64' : 'F32',
          shape: [1, values.length],
          data: wide ? Float64Array.from(values) : Float32Array.from(values)
        }))
      await valueOf(writeTensors(path, written))
      const file = await valueOf(openTensorFile(path))
      assert.is(file.tensors.size, written.length)
      for (const { name, shape, data } of written) {
        const target = data instanceof Float64Array ? new Float64Array(data.length) : new Float32Array((data as Float32Array).length)
        await valueOf(readTensor(file, name, target))
        assert.equal(file.tensors.get(name)?.shape, shape)
        assert.equal(Buffer.from(target.buffer), Buffer.from(data.buffer))
      }
    }),
    propertyRuns(40)
  )
})

test('the layout on disk is the format: length, header, bytes', async () => {
  await valueOf(writeTensors(path, [{ name: 'a', type: 'F32', shape: [2], data: Float32Array.of(1, -2) }]))
  const bytes = readFileSync(path)
  const headerBytes = Number(bytes.readBigUInt64LE())
  assert.is(headerBytes % 8, 0)
  assert.equal(JSON.parse(bytes.subarray(8, 8 + headerBytes).toString()), { a: { dtype: 'F32', shape: [2], data_offsets: [0, 8] } })
  assert.is(bytes.readFloatLE(8 + headerBytes), 1)
  assert.is(bytes.readFloatLE(12 + headerBytes), -2)
  assert.is(bytes.length, 16 + headerBytes)
})

test('half, bfloat16 and int64 become numbers; metadata is passed over', async () => {
  const header = JSON.stringify({
    __metadata__: { format: 'pt' },
    half: entry(0, 6, [3], 'F16'),
    brain: entry(6, 8, [1], 'BF16'),
    label: entry(8, 16, [1], 'I64')
  })
  writeRaw(header, 0)
  const data = Buffer.alloc(16)
  data.writeUInt16LE(0x3c00, 0)
  data.writeUInt16LE(0xc500, 2)
  data.writeUInt16LE(0x0001, 4)
  data.writeUInt16LE(0xbfc0, 6)
  data.writeBigInt64LE(-3n, 8)
  writeFileSync(path, Buffer.concat([readFileSync(path), data]))
  const file = await valueOf(openTensorFile(path))
  const [half, brain, label] = [new Float64Array(3), new Float32Array(1), new Int32Array(1)]
  await valueOf(readTensor(file, 'half', half))
  await valueOf(readTensor(file, 'brain', brain))
  await valueOf(readTensor(file, 'label', label))
  assert.equal([...half], [1, -5, 2 ** -24])
  assert.equal([...brain], [-1.5])
  assert.equal([...label], [-3])
})

const rejected: readonly (readonly [name: string, write: () => void, sentence: RegExp])[] = [
  ['an empty file', () => writeFileSync(path, ''), /holds 0 bytes; a safetensors file has at least 8/],
  ['a header longer than the file', () => writeRaw('{}', 0, 5000), /claims 5000 bytes but the file has 10/],
  ['a header length beyond 2^53', () => writeFileSync(path, Buffer.alloc(16, 0xff)), /claims \d+ bytes but the file has 16/],
  ['a header of 20 MB', () => writeRaw(`{"a":${'['.repeat(20e6)}`, 0), /its header claims 20000005 bytes, over the 20000000 that are read/],
  ['no JSON', () => writeRaw('hello', 0), /not JSON/],
  ['JSON but no object', () => writeRaw('[1]', 0), /not a JSON object/],
  ['an unknown dtype', () => writeRaw(JSON.stringify({ a: entry(0, 4, [1], 'F7') }), 4), /entry of a is not/],
  ['a negative extent', () => writeRaw(JSON.stringify({ a: entry(0, 4, [-1]) }), 4), /entry of a is not/],
  ['a fractional offset', () => writeRaw(JSON.stringify({ a: entry(0.5, 4.5, [1]) }), 4), /entry of a is not/],
  ['a range that is too small', () => writeRaw(JSON.stringify({ a: entry(0, 4, [2]) }), 4), /needs 8 bytes but its range 0\.\.4 holds 4/],
  [
    'a range that runs backwards',
    () => writeRaw(JSON.stringify({ a: entry(8, 4, [1]) }), 8),
    /needs 4 bytes but its range 8\.\.4 holds -4/
  ],
  ['overlapping ranges', () => writeRaw(JSON.stringify({ a: entry(0, 8), b: entry(4, 12) }), 12), /bytes of b overlap/],
  ['a gap between ranges', () => writeRaw(JSON.stringify({ a: entry(0, 4), b: entry(8, 12) }), 12), /4 bytes before b belong to no tensor/],
  ['a cut file', () => writeRaw(JSON.stringify({ a: entry(0, 8) }), 7), /the file is cut/],
  ['bytes after the last tensor', () => writeRaw(JSON.stringify({ a: entry(0, 8) }), 9), /the last 1 bytes belong to no tensor/]
]

for (const [name, write, sentence] of rejected) {
  test(`refuses ${name}`, async () => {
    write()
    const failure = await failureOf(openTensorFile(path))
    assert.is(failure.code, 'input')
    assert.ok(failure.message.startsWith(path), failure.message)
    assert.match(failure.message, sentence)
  })
}

test('what was replaced since its header was read is no tensor of it', async () => {
  const of = (value: number): TensorData => ({ name: 'a', type: 'F32', shape: [1], data: Float32Array.of(value) })
  await valueOf(writeTensors(path, [of(1)]))
  const file = await valueOf(openTensorFile(path))
  await valueOf(writeTensors(path, [of(2)]))
  assert.match(
    (await failureOf(readTensor(file, 'a', new Float32Array(1)))).message,
    /: was replaced while it was read: run the command again$/
  )
})

test('a tensor of bfloat16 is read outside of the heap', () => {
  const elements = 4e7
  const header = JSON.stringify({ a: entry(0, 2 * elements, [elements], 'BF16') })
  writeRaw(header, 0)
  // Zeros, which no disk holds.
  truncateSync(path, 8 + header.length + 2 * elements)
  const code = `const { openTensorFile, readTensor } = require('./src/weights/safetensors')
openTensorFile(process.argv[1])()
  .then(({ right: file }) => readTensor(file, 'a', new Float32Array(${elements}))())
  .then(({ _tag }) => console.log(_tag))`
  const options = ['--max-old-space-size=150', '-r', './test/transpile.js', '-e', code, path]
  const { stdout } = spawnSync(process.execPath, options, { cwd: root, encoding: 'utf8' })
  assert.is(stdout, 'Right\n')
})

test('a tensor that is absent or has another size is a failure', async () => {
  await valueOf(writeTensors(path, [{ name: 'a', type: 'F32', shape: [2], data: Float32Array.of(1, 2) }]))
  const file = await valueOf(openTensorFile(path))
  assert.match((await failureOf(readTensor(file, 'b', new Float32Array(2)))).message, 'has no tensor b')
  assert.match((await failureOf(readTensor(file, 'a', new Float32Array(3)))).message, 'a has 2 elements where 3 are wanted')
})

test('a write that fails leaves the old file and nothing beside it', async () => {
  await valueOf(writeTensors(path, [{ name: 'a', type: 'F32', shape: [1], data: Float32Array.of(7) }]))
  const before = readFileSync(path)
  const detached = Float32Array.of(1, 2)
  structuredClone(detached, { transfer: [detached.buffer] })
  const broken = {
    name: 'a',
    type: 'F32',
    shape: [2],
    get data(): Float32Array {
      throw new Error('gone')
    }
  } as const
  const failure = await failureOf(writeTensors(path, [broken]))
  assert.match(failure.message, 'cannot be written (gone)')
  assert.equal(readFileSync(path), before)
  assert.equal(readdirSync(folder), ['weights.safetensors'])
  assert.match((await failureOf(writeTensors(join(folder, 'no', 'w.safetensors'), []))).message, 'cannot be written')
})

test.run()
