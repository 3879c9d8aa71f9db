// What nvcc makes of kernels, which no emulation sees: widths of stores, read from the machine
// code, which it has split before, and whether products of warpgroups run beside each other.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'

const folder = join(__dirname, '..', '..', 'native', 'src', 'cuda')
const hasNvcc = spawnSync('nvcc', ['--version']).status === 0
const suite = hasNvcc ? test : test.skip

/** STG in 16 bytes, the operation in bits 0 to 11, its width in 73 to 75. */
const storeOperation = 0x986
const bytesByWidth = [1, 1, 2, 2, 4, 8, 16] as const

const textEnd = (file: Buffer, from: number): number => file.indexOf(0, from)

/** Bytes of each store to global memory, by a kernel's mangled name, of an ELF file of 64 bits. */
const storesOf = (file: Buffer): ReadonlyMap<string, readonly number[]> => {
  const start = Number(file.readBigUInt64LE(40))
  const size = file.readUInt16LE(58)
  const at = (index: number) => start + index * size
  const names = Number(file.readBigUInt64LE(at(file.readUInt16LE(62)) + 24))
  const sections = Array.from({ length: file.readUInt16LE(60) }, (_, index) => {
    const name = names + file.readUInt32LE(at(index))
    const [from, bytes] = [24, 32].map((field) => Number(file.readBigUInt64LE(at(index) + field))) as [number, number]
    return { name: file.toString('latin1', name, textEnd(file, name)), from, bytes }
  })
  return new Map(
    sections
      .filter(({ name }) => name.startsWith('.text.'))
      .map(({ name, from, bytes }) => {
        const instructions = Array.from({ length: bytes / 16 }, (_, index) => from + 16 * index)
        const stores = instructions.filter((place) => (file.readUInt16LE(place) & 0xfff) === storeOperation)
        return [name, stores.map((place) => bytesByWidth[(file.readUInt8(place + 9) >> 1) & 7] ?? 0)]
      })
  )
}

const compiled = (source: string): ReadonlyMap<string, readonly number[]> => {
  const made = mkdtempSync(join(tmpdir(), 'tilefold-stores-'))
  const cubin = join(made, 'kernels.cubin')
  const args = ['-std=c++17', '--extended-lambda', '--fmad=false', '-arch=sm_90', '-cubin', join(folder, source), '-o', cubin]
  const { status, stderr } = spawnSync('nvcc', args, { encoding: 'utf8' })
  assert.is(status, 0, stderr)
  const stores = storesOf(readFileSync(cubin))
  rmSync(made, { recursive: true })
  return stores
}

suite('normalisation of pixels stores 16 bytes at once, of float32 and bf16, forward and backward', () => {
  const inPacks = [...compiled(join('kernels', 'normalise.cu'))].filter(([name]) => /visitPixelsILi[48]E/.test(name))
  assert.is(inPacks.length, 8)
  for (const [name, stores] of inPacks) {
    assert.ok(stores.length > 0, name)
    assert.equal([...new Set(stores)], [16], name)
  }
})

suite('products of warpgroups are assembled as they stand: nothing spills, and none waits for another', () => {
  const made = mkdtempSync(join(tmpdir(), 'tilefold-warpgroups-'))
  const options = ['-O3', '-std=c++17', '--extended-lambda', '--fmad=false', '-Xptxas', '-v']
  const code = [
    '-gencode=arch=compute_90a,code=sm_90a',
    '-cubin',
    join(folder, 'convolution', 'warpgroup_gradient.cu'),
    '-o',
    join(made, 'kernels.cubin')
  ]
  const { status, stdout, stderr } = spawnSync('nvcc', [...options, ...code], { encoding: 'utf8' })
  rmSync(made, { recursive: true })
  const said = `${stdout}${stderr}`
  assert.is(status, 0, said)
  // Notes C7500 and on are of products.
  assert.not.match(said, /\(C75\d\d\)/)
  assert.not.match(said, / [1-9]\d* bytes spill/)
  assert.is(said.match(/Compiling entry function '\w*sumRowProducts/g)?.length, 2)
})

test.run()
