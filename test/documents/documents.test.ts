/** What the documents say that code says too: layers, strategies, models, files, links. */
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import * as E from 'fp-ts/Either'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { strategyNames, type Shape } from '../../dsl'
import type { Op } from '../../dsl/internal'
import * as activations from '../../dsl/activations'
import { opRecords } from '../../dsl/ops'
import { builtIn } from '../../models'

const root = join(__dirname, '..', '..')
const read = (path: string): string => readFileSync(join(root, path), 'utf8')

const documents = [
  ...[
    'README.md',
    'CONTRIBUTING.md',
    'CHANGELOG.md',
    'SECURITY.md',
    'src/README.md',
    'bench/README.md',
    'devices/README.md',
    'examples/README.md'
  ],
  ...readdirSync(join(root, 'docs')).flatMap((name) => (name.endsWith('.md') ? [`docs/${name}`] : []))
]

/** The rows of a document's tables, cell by cell, under the head that begins with `first`. */
const rowsOf = (document: string, first: string): readonly (readonly string[])[] => {
  const lines = read(document).split('\n')
  const cells = (line: string): readonly string[] =>
    line
      .slice(1, -1)
      .split('|')
      .map((cell) => cell.trim())
  const head = lines.findIndex((line) => line.startsWith('|') && cells(line)[0] === first)
  const body = lines.slice(head + 2)
  return body
    .slice(
      0,
      body.findIndex((line) => !line.startsWith('|'))
    )
    .map(cells)
}

/** What stands between backquotes. */
const quoted = (text: string): readonly string[] => [...text.matchAll(/`([^`]*)`/g)].map(([, inner]) => inner!)

test('README has at most 150 lines', () => assert.ok(read('README.md').trimEnd().split('\n').length <= 150))

/** As GitHub makes them of titles. */
const anchorsOf = (document: string): readonly string[] =>
  [...read(document).matchAll(/^#+ (.*)$/gm)].map(([, title]) =>
    title!
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-')
  )

test('links lead to files and titles that there are', () => {
  for (const document of documents)
    for (const [, link] of read(document).matchAll(/\]\(([^)]+)\)/g)) {
      if (/^https?:/.test(link!)) continue
      const [file, anchor] = link!.split('#')
      const path = file === '' ? document : normalize(join(dirname(document), file!))
      assert.ok(existsSync(join(root, path)), `${document}: ${link}`)
      if (anchor !== undefined) assert.ok(anchorsOf(path).includes(anchor), `${document}: ${link}`)
    }
})

test('files that documents name are there', () => {
  const isPath = /^(?:dsl|staging|native|src|models|bench|examples|test|docs|devices)\/[a-z0-9_./-]+$/
  for (const document of documents.filter((name) => name !== 'CHANGELOG.md'))
    for (const path of quoted(read(document)).filter((text) => isPath.test(text)))
      assert.ok(existsSync(join(root, path)) || /^native\/build/.test(path), `${document}: ${path}`)
})

/** Folders whose comments cite what is in the repository, or papers by their keys. */
const citing = ['bench', 'examples', 'models', 'native', 'test']

const codeOf = (folder: string): readonly string[] =>
  readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) return /^build|^data$/.test(entry.name) ? [] : codeOf(path)
    return /\.(?:ts|js|py|cpp|hpp|cu|cuh)$/.test(entry.name) ? [path] : []
  })

test('comments cite nothing that is not there', () =>
  assert.equal(
    citing.flatMap(codeOf).filter((path) => /DESIGN \u00a7|[Pp]apers? 00\d/.test(read(path))),
    []
  ))

/** Lines of comments, but for commands, what a test expects, and what a tool writes or reads. */
const commentsOf = (path: string): readonly string[] =>
  read(path)
    .split('\n')
    .filter((line) => /^\s*(?:\/\/|\/?\*+ )/.test(line) && !/expects: |npx ts-node|eslint-disable|Made by /.test(line))

test('comments are within 100 columns', () =>
  assert.equal(
    ['dsl', 'staging', 'src', ...citing].flatMap((folder) =>
      codeOf(folder).flatMap((path) => commentsOf(path).flatMap((line) => (line.length > 100 ? [`${path}: ${line.trim()}`] : [])))
    ),
    []
  ))

test('commands in documents are those of the command line, with its options', () => {
  const commands = [...read('docs/command-line.md').matchAll(/^### ([a-z ]+)$/gm)].map(([, name]) => name!)
  const known = new Set([...read('docs/command-line.md').matchAll(/`(--[a-z-]+)/g)].map(([, option]) => option!))
  for (const document of documents.filter((name) => !/CHANGELOG|command-line/.test(name)))
    for (const [, command] of read(document).matchAll(/(?:npx |`)tilefold ([a-z][^`\n#]*)/g)) {
      assert.ok(
        commands.some((name) => `${command!} `.startsWith(`${name} `)),
        `${document}: ${command}`
      )
      for (const [option] of command!.matchAll(/--[a-z-]+/g)) assert.ok(known.has(option), `${document}: ${option}`)
    }
})

/** One of each layer: its options, and a shape that it takes. */
const one: { readonly [P in Op]?: { readonly args: object; readonly vectors?: true } } = {
  conv2d: { args: { out: 6, k: 3 } },
  convTranspose2d: { args: { out: 6, k: 2, s: 2 } },
  linear: { args: { out: 6 }, vectors: true },
  groupNorm: { args: { groups: 2 } },
  dropout: { args: { rate: 0.5 } },
  maxPool2d: { args: { k: 2 } },
  avgPool2d: { args: { k: 2 } },
  adaptiveAvgPool2d: { args: { out: 3 } },
  resize: { args: { mode: 'nearest', scale: 2 } },
  pixelShuffle: { args: { factor: 2 } },
  pixelUnshuffle: { args: { factor: 2 } },
  channelShuffle: { args: { groups: 2 } },
  narrow: { args: { start: 1, length: 2 } },
  pad: { args: { p: 1 } },
  softmaxCrossEntropy: { args: {}, vectors: true },
  classLoss: { args: { loss: 'focal' }, vectors: true },
  pixelLoss: { args: { loss: 'focal' } },
  overlapLoss: { args: { loss: 'dice' } },
  valueLoss: { args: { loss: 'huber' } }
}
const extents: { readonly [Letter in string]?: number } = { B: 2, C: 4, H: 12, W: 10, out: 6 }

const shapeOf = (text: string): readonly string[] =>
  text
    .replace(/[[\]]/g, '')
    .split(',')
    .flatMap((name) => (name.trim() === '' ? [] : [name.trim()]))

/** Functions of single elements: layers of the op `pointwise`, or what makes one. */
const functions: readonly string[] = Object.entries(activations).flatMap(([name, value]) =>
  typeof value === 'function' && !/^is[A-Z]/.test(name) ? [name] : []
)

test('the table of layers has all of them, with their options, shapes and tiles', () => {
  const rows = rowsOf('docs/layers.md', 'layer')
  const unlisted: readonly string[] = ['add', 'mul', 'concat', 'pointwise']
  assert.equal(
    rows.map(([layer]) => quoted(layer!)[0]).sort(),
    [...Object.keys(opRecords).filter((op) => !unlisted.includes(op)), ...functions].sort()
  )
  for (const [layer, options, shape, inside, last] of rows) {
    const name = quoted(layer!)[0]!
    const op = (functions.includes(name) ? 'pointwise' : name) as Op
    const record = opRecords[op]
    assert.is(inside, record.segment.inside.join(' '), name)
    assert.is(last, record.segment.last.join(' '), name)
    if (op === 'pointwise') continue
    assert.equal([...quoted(options!)].sort(), record.options.map(([option]: readonly [string, ...unknown[]]) => option).sort(), op)
    const required: readonly string[] = 'required' in record ? record.required : []
    assert.equal([...options!.matchAll(/\*\*`(\w+)`\*\*/g)].map(([, option]) => option).sort(), [...required].sort(), op)
    const { args, vectors } = one[op] ?? { args: {} }
    const input: Shape = vectors === true ? [2, 5] : [2, 4, 12, 10]
    const [from, to] = quoted(shape!).map(shapeOf)
    assert.is(from!.length, input.length, op)
    const made = (record.shape as (args: object, inputs: readonly Shape[], start: Shape) => E.Either<string, Shape>)(args, [input], input)
    if (E.isLeft(made)) throw new Error(`${op}: ${made.left}`)
    assert.is(to!.length, made.right.length, op)
    to!.forEach((extent, place) => {
      if (vectors !== true && extents[extent] !== undefined) assert.is(made.right[place], extents[extent], `${op}: ${extent}`)
    })
  }
})

test('the table of strategies has all of them, in the order of the command line', () =>
  assert.equal(
    rowsOf('docs/strategies.md', 'strategy').map(([name]) => quoted(name!)[0]),
    [...strategyNames]
  ))

test('the table of models has all that are built in', () =>
  assert.equal(
    rowsOf('docs/guide.md', 'models')
      .flatMap(([names]) => {
        const all = quoted(names!)
        return all.includes('_bn') ? all.flatMap((name) => (name === '_bn' ? [] : [name, `${name}_bn`])) : all
      })
      .sort(),
    Object.keys(builtIn).sort()
  ))

/** Calls, flags and headers that other systems have not, and libraries that they name otherwise. */
const ofLinux =
  /\b(?:memfd_create|eventfd|(?:posix_)?fallocate|MAP_POPULATE|epoll_\w+|sched_[gs]etaffinity|pthread_setaffinity_np|prctl|mremap|syscall|accept4|pipe2|gettid)\b|<sys\/(?:eventfd|epoll|inotify|prctl|sendfile|syscall|sysinfo)\.h>|<linux\/|\bproc\/(?:self|cpuinfo|meminfo)|\blib(?:mpi|openslide)\.so/

test("the table of what is Linux's alone has every file that is", () => {
  const files = ['native/src', 'native/addon', 'native/session', 'native/system', 'src', 'staging'].flatMap(codeOf)
  const code = (path: string): string => read(path).replace(/^\s*(?:\/\/|\/?\*).*$/gm, '')
  const named = rowsOf('docs/systems-native.md', 'file').map(([file]) => quoted(file!)[0])
  for (const path of files) {
    const found = ofLinux.exec(code(path))?.[0]
    assert.is(named.includes(path), found !== undefined || /_linux\.[ch]pp$/.test(path), `${path}: ${found ?? 'nothing'}`)
  }
})

test.run()
