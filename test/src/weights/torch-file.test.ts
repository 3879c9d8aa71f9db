/** Files that pretend to be of torch.save: each ends in one sentence, and nothing in one is run. */
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as E from 'fp-ts/Either'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { openWeightFile } from '../../../src/weights/open-weight-file'
import { failureOf, valueOf } from '../outcome'
import { temporaryFolder } from '../temporary-folder'

const folder = temporaryFolder()
const path = join(folder, 'weights.pth')

interface ZipEntry {
  readonly name: string
  readonly data: Buffer
  readonly method?: number
}

/** A zip file without compression, whatever an entry says of its method. */
const zip = (entries: readonly ZipEntry[]): Buffer => {
  const headers = entries.map(({ name, data, method = 0 }) => {
    const header = Buffer.alloc(26)
    header.writeUInt16LE(20, 0)
    header.writeUInt16LE(method, 4)
    header.writeUInt32LE(data.length, 14)
    header.writeUInt32LE(data.length, 18)
    header.writeUInt16LE(name.length, 22)
    return header
  })
  const locals = entries.map(({ name, data }, index) =>
    Buffer.concat([Buffer.from('PK\x03\x04'), headers[index]!, Buffer.from(name), data])
  )
  const directory = entries.map(({ name }, index) => {
    const rest = Buffer.alloc(14)
    rest.writeUInt32LE(
      locals.slice(0, index).reduce((sum, { length }) => sum + length, 0),
      10
    )
    return Buffer.concat([Buffer.from('PK\x01\x02\x14\x00'), headers[index]!, rest, Buffer.from(name)])
  })
  const end = Buffer.alloc(22)
  end.write('PK\x05\x06', 'latin1')
  end.writeUInt16LE(entries.length, 8)
  end.writeUInt16LE(entries.length, 10)
  end.writeUInt32LE(Buffer.concat(directory).length, 12)
  end.writeUInt32LE(Buffer.concat(locals).length, 16)
  return Buffer.concat([...locals, ...directory, end])
}

const text = (value: string): string => `X${String.fromCharCode(value.length)}\0\0\0${value}`
const number = (value: number): string => `\x8a\x08${Buffer.from(BigInt64Array.of(BigInt(value)).buffer).toString('latin1')}`
const tuple = (...items: readonly string[]): string => `(${items.join('')}t`

interface View {
  readonly elements?: number
  readonly offset?: number
  readonly shape?: readonly number[]
  readonly strides?: readonly number[]
  readonly storage?: string
  readonly key?: string
  /** What follows the hooks. */
  readonly more?: string
}

/** The opcodes of a tensor: of four elements in the storage '0', unless said otherwise. */
const tensor = ({
  elements = 4,
  offset = 0,
  shape = [4],
  strides = [1],
  storage = 'torch\nFloatStorage\n',
  key = '0',
  more = ''
}: View = {}): string =>
  [
    'ctorch._utils\n_rebuild_tensor_v2\n(',
    `${tuple(text('storage'), `c${storage}`, text(key), text('cpu'), number(elements))}Q`,
    number(offset),
    tuple(...shape.map(number)),
    tuple(...strides.map(number)),
    `\x89ccollections\nOrderedDict\n)R${more}tR`
  ].join('')

const dict = (...items: readonly string[]): string => `\x80\x02}(${items.join('')}u.`
const pickle = (opcodes: string): ZipEntry => ({ name: 'archive/data.pkl', data: Buffer.from(opcodes, 'latin1') })
const storage: ZipEntry = { name: 'archive/data/0', data: Buffer.from(Float32Array.of(1, 2, 3, 4).buffer) }

const of = (opcodes: string, ...more: readonly ZipEntry[]): Buffer => zip([pickle(opcodes), storage, ...more])
const ofTensor = (view: View): Buffer => of(dict(text('a'), tensor(view)))

test('what these files are made of is read, where it is right', async () => {
  writeFileSync(path, ofTensor({ offset: 1, shape: [2, 2], strides: [1, 1] }))
  const { tensors, read } = await valueOf(openWeightFile(path))
  assert.equal([...tensors], [['a', { type: 'F32', shape: [2, 2] }]])
  const values = new Float32Array(4)
  await valueOf(read('a', values))
  assert.equal([...values], [2, 3, 3, 4])
  assert.match((await failureOf(read('a', new Float32Array(3)))).message, 'a has 4 elements where 3 are wanted')
})

const code = /which is code and is not run: save the weights alone, torch\.save\(model\.state_dict\(\), FILE\)$/
const rejected: readonly (readonly [name: string, file: () => Buffer, sentence: RegExp])[] = [
  [
    'a call of the system',
    () => of(`\x80\x02cposix\nsystem\n${tuple(text('touch x'))}R.`),
    /: holds posix\.system, which is code and is not run/
  ],
  [
    'a call by name from the stack',
    () => of(`\x80\x04${text('builtins')}${text('eval')}\x93${tuple(text('1'))}R.`),
    /: holds builtins\.eval, /
  ],
  ['an object', () => of(dict(text('a'), 'cargparse\nNamespace\n)\x81')), code],
  [
    'an object of one of its classes',
    () => of(dict(text('model'), 'cmine\nNet\n)\x81', text('a'), tensor())),
    /: holds mine\.Net, which is code/
  ],
  [
    'tensors of a kind that is not known',
    () => of(dict(text('a'), tensor(), text('b'), 'ctorch._utils\n_rebuild_sparse_tensor\n)R')),
    /: holds "b", torch\._utils\._rebuild_sparse_tensor, which is code/
  ],
  ['a dict among tensors', () => of(dict(text('a'), tensor(), text('b'), '}')), /: holds "b", which is no tensor, among its tensors/],
  ['an opcode that looks up an extension', () => of('\x80\x02\x82\x01.'), /its pickle has the opcode 0x82, which no checkpoint needs$/],
  ['an instance in the old way', () => of('\x80\x02(iposix\nsystem\n.'), /has the opcode 0x69/],
  ['no end', () => of('\x80\x02}'), /its pickle ends early$/],
  ['a text longer than the file', () => of('\x80\x02X\xff\xff\xff\x7fa.'), /its pickle ends early$/],
  ['a text of 2^63 bytes', () => of(`\x80\x04\x8d${'\xff'.repeat(8)}a.`), /its pickle ends early$/],
  ['more taken than there is', () => of('\x80\x02s.'), /its pickle takes more than it holds$/],
  ['a mark that is not there', () => of('\x80\x02t.'), /its pickle has no mark where one is needed$/],
  ['what was never kept', () => of('\x80\x02h\x07.'), /its pickle refers to what it does not hold$/],
  ['items into a number', () => of('\x80\x02K\x01K\x02K\x03s.'), /puts items into what is no dict$/],
  ['items into a tuple', () => of('\x80\x02)K\x03a.'), /appends to what is no list$/],
  [
    'a number in place of a dict',
    () => of('\x80\x02K\x01.'),
    /: holds no dict of tensors: save it with torch\.save\(model\.state_dict\(\), FILE\)$/
  ],
  ['a dict that holds itself', () => of(`\x80\x02}q\0(${text('a')}h\0u.`), /: holds "a", which is no tensor, among its tensors/],
  ['a shape of 2^53 - 1', () => ofTensor({ shape: [2 ** 53 - 1] }), /reaches beyond the 4 elements of its storage 0$/],
  ['a shape whose product is too large', () => ofTensor({ shape: [2 ** 40, 2 ** 40], strides: [0, 0] }), /reaches beyond the 4 elements/],
  ['a shape of 2^62', () => ofTensor({ shape: [2 ** 62] }), /has a tensor that is no view of a storage$/],
  ['a negative extent', () => ofTensor({ shape: [-1] }), /is no view of a storage$/],
  ['a negative stride', () => ofTensor({ offset: 3, strides: [-1] }), /is no view of a storage$/],
  ['a stride too many', () => ofTensor({ strides: [1, 1] }), /is no view of a storage$/],
  [
    'strides beyond the storage',
    () => ofTensor({ shape: [2, 2], strides: [3, 1] }),
    /a tensor of shape \[2, 2\] that reaches beyond the 4 elements/
  ],
  ['an offset beyond the storage', () => ofTensor({ offset: 2, shape: [3] }), /reaches beyond the 4 elements/],
  [
    'a storage smaller than it says',
    () => ofTensor({ elements: 2 ** 40 }),
    /its storage 0 of a has 16 bytes where 4398046511104 are wanted$/
  ],
  ['a storage that is absent', () => ofTensor({ key: '../0' }), /lacks the storage \.\.\/0 of a$/],
  [
    'complex numbers',
    () => ofTensor({ storage: 'torch\nComplexFloatStorage\n' }),
    /: holds "a", a tensor of torch\.ComplexFloatStorage, which is not read: save it as float32$/
  ],
  [
    'a tensor to be negated',
    () => ofTensor({ more: `}${text('neg')}\x88s` }),
    /a tensor of shape \[4\] that is negated only when it is read/
  ],
  ['what is stored and no storage', () => of(`\x80\x02${text('0')}Q.`), /refers to what is no storage of a tensor$/],
  ['another byte order', () => of(dict(), { name: 'archive/byteorder', data: Buffer.from('big') }), /another byte order/],
  [
    'a compressed storage',
    () => zip([pickle(dict(text('a'), tensor())), { ...storage, method: 8 }]),
    /its archive\/data\/0 is compressed, as torch\.save does not\)$/
  ],
  // Each would take minutes, or gigabytes, if it were run to its end.
  ['a short pickle of many dicts', () => of(`\x80\x02${'}'.repeat(3.1e6)}.`), /its pickle makes over 3000000 lists, tuples and dicts/],
  ['many marks', () => of(`\x80\x02${'('.repeat(3.1e6)}.`), /its pickle makes over 3000000 lists, tuples and dicts/],
  [
    'one long list of pairs, again and again',
    () => of(`\x80\x02ccollections\nOrderedDict\nq\x00]q\x01(${'NN\x86'.repeat(5e4)}e\x85q\x02${'h\x00h\x02R'.repeat(5e4)}.`),
    /its pickle makes over 3000000 lists, tuples and dicts/
  ],
  [
    'a pickle that is too long',
    () => of(`\x80\x02${'N'.repeat(20e6)}.`),
    /has a data\.pkl of 20000003 bytes, over the 20000000 that are read$/
  ],
  [
    'an object made again and again',
    () => of(`\x80\x02cx\ny\nq\0${'h\0)R'.repeat(1.1e6)}.`),
    /its pickle makes over 3000000 lists, tuples and dicts/
  ],
  ['two pickles', () => of(dict(), { name: 'data.pkl', data: Buffer.from('.') }), /it has no data\.pkl, or several$/],
  ['a name twice', () => of(dict(), storage), /it has archive\/data\/0 twice\)$/],
  ['a zip file of something else', () => zip([storage]), /is a zip file, but not of torch\.save/],
  ['a cut zip file', () => ofTensor({}).subarray(0, -30), /cannot be read \(/],
  ['a name outside of the file', () => of(dict(), { name: '../../x', data: Buffer.alloc(1) }), /cannot be read \(/]
]

for (const [name, file, sentence] of rejected)
  test(`refuses ${name}`, async () => {
    writeFileSync(path, file())
    const { code: kind, message } = await failureOf(openWeightFile(path))
    assert.is(kind, 'input')
    assert.ok(message.startsWith(`${path}: `), message)
    assert.match(message, sentence)
  })

test('what was replaced since it was opened is no tensor of it', async () => {
  const at = join(folder, 'replaced.pth')
  writeFileSync(at, ofTensor({}))
  const { read } = await valueOf(openWeightFile(at))
  writeFileSync(path, ofTensor({ offset: 1, shape: [1] }))
  renameSync(path, at)
  assert.match((await failureOf(read('a', new Float32Array(4)))).message, /: was replaced while it was read: run the command again$/)
})

test('a directory that would stand beyond 2^53 is a sentence', async () => {
  const damaged = readFileSync(join(__dirname, '..', '..', 'golden', 'data', 'weights', 'checkpoint.pth'))
  damaged.writeBigUInt64LE(2n ** 63n, damaged.indexOf('PK\x06\x07') + 8)
  writeFileSync(path, damaged)
  assert.match((await failureOf(openWeightFile(path))).message, /: cannot be read \(it points beyond its end\)$/)
})

test('a damaged byte ends in a sentence or changes nothing but numbers', async () => {
  const whole = readFileSync(join(__dirname, '..', '..', 'golden', 'data', 'weights', 'checkpoint.pth'))
  for (let at = 4; at < whole.length; at += 17) {
    const damaged = Buffer.from(whole)
    damaged[at]! ^= 1 << (at % 8)
    writeFileSync(path, damaged)
    const opened = await openWeightFile(path)()
    if (E.isLeft(opened)) assert.is(opened.left.code, 'input')
    else
      for (const [name, { shape }] of opened.right.tensors) {
        const read = await opened.right.read(name, new Float64Array(shape.reduce((product, extent) => product * extent, 1)))()
        if (E.isLeft(read)) assert.is(read.left.code, 'input')
      }
  }
})

test.run()
