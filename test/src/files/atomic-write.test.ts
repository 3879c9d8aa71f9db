/** Files that are replaced: whole, as they were kept, and by one writer at a time. */
import {
  chmodSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  statSync,
  symlinkSync,
  writeFileSync
} from 'node:fs'
import { open } from 'node:fs/promises'
import { homedir, hostname, userInfo } from 'node:os'
import { join } from 'node:path'
import * as E from 'fp-ts/Either'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { cacheFolder, homeFolder } from '../../../src/files/cache-folder'
import { makeFolder } from '../../../src/files/make-folder'
import { checkPaths, isInside } from '../../../src/files/paths'
import { freeBytes, removeLeftovers } from '../../../src/images/mapped-image-file'
import { checkWritable, replaceFileAtomic, writeFileAtomic } from '../../../src/files/atomic-write'
import { failureOf, valueOf } from '../outcome'
import { temporaryFolder } from '../temporary-folder'

const folder = temporaryFolder()
const at = (...names: readonly string[]): string => join(folder, ...names)
const modeOf = (path: string): number => statSync(path).mode & 0o7777

test('a mode is kept; a link stays one, and what it leads to is replaced', async () => {
  mkdirSync(at('elsewhere'))
  writeFileSync(at('elsewhere', 'private'), 'old')
  chmodSync(at('elsewhere', 'private'), 0o600)
  symlinkSync('elsewhere/private', at('link'))
  symlinkSync(at('link'), at('link-to-link'))
  for (const [name, text] of [
    ['link', 'new'],
    ['link-to-link', 'newer']
  ] as const) {
    await valueOf(checkWritable(at(name)))
    await valueOf(writeFileAtomic(at(name), () => [Buffer.from(text)]))
    assert.is(readFileSync(at('elsewhere', 'private'), 'utf8'), text)
  }
  assert.is(readlinkSync(at('link')), 'elsewhere/private')
  assert.ok(lstatSync(at('link-to-link')).isSymbolicLink())
  assert.is(modeOf(at('elsewhere', 'private')), 0o600)
  assert.equal(readdirSync(at('elsewhere')), ['private'])
})

test("a file handle that has no sync of its own, as under Yarn's Plug'n'Play, is flushed all the same", async () => {
  const handle = await open(folder)
  const methods = Object.getPrototypeOf(handle) as { sync: unknown }
  await handle.close()
  const { sync } = methods
  methods.sync = () => Promise.reject(new Error('Method not implemented.'))
  try {
    await valueOf(writeFileAtomic(at('flushed'), () => [Buffer.from('all of it')]))
  } finally {
    methods.sync = sync
  }
  assert.is(readFileSync(at('flushed'), 'utf8'), 'all of it')
})

test('a link to nothing yet leads to the new file; one that goes round is a sentence', async () => {
  mkdirSync(at('later'))
  symlinkSync('later/file', at('ahead'))
  await valueOf(checkWritable(at('ahead')))
  await valueOf(writeFileAtomic(at('ahead'), () => [Buffer.from('there')]))
  assert.is(readFileSync(at('later', 'file'), 'utf8'), 'there')
  symlinkSync('round', at('round'))
  assert.match((await failureOf(checkWritable(at('round')))).message, /round: cannot be written \(too many symbolic links encountered\)/)
})

const asRoot = process.getuid?.() === 0
;(asRoot ? test.skip : test)('a file that may not be written is not replaced (root may write it)', async () => {
  writeFileSync(at('kept'), 'kept')
  chmodSync(at('kept'), 0o444)
  assert.match((await failureOf(checkWritable(at('kept')))).message, /kept: cannot be written \(permission denied\)/)
  assert.match((await failureOf(writeFileAtomic(at('kept'), () => []))).message, /kept: cannot be written \(permission denied\)/)
})

test('many writers of one file at once, in one process too: each file is whole, and nothing else is left', async () => {
  mkdirSync(at('crowd'))
  const texts = Array.from({ length: 8 }, (_, writer) => Array.from({ length: 40 }, () => Buffer.alloc(5000, writer)))
  const written = await Promise.all(texts.map((parts) => writeFileAtomic(at('crowd', 'file'), () => parts)()))
  assert.ok(written.every(E.isRight))
  const found = readFileSync(at('crowd', 'file'))
  assert.ok(texts.some((parts) => Buffer.concat(parts).equals(found)))
  assert.equal(readdirSync(at('crowd')), ['file'])
})

test('what a killed process has left beside a file goes, and what only looks like it stays', async () => {
  mkdirSync(at('beside'))
  // In a container the next process often has the number of the killed one.
  const left = [4194999, process.pid].map((pid) => at('beside', `file.${pid}-0123456789ab.tmp`))
  const others = [
    'file.4194999.tmp',
    'file.20250101.tmp',
    'file.4194999-old.tmp',
    `file.${process.ppid}-0123456789ab.tmp`,
    'other.4194999-0123456789ab.tmp'
  ]
  for (const name of others) writeFileSync(at('beside', name), 'mine')
  for (const path of left) writeFileSync(path, 'half')
  await valueOf(checkWritable(at('beside', 'file')))
  assert.equal(readdirSync(at('beside')), [...others].sort())
})

test('what this process is about to write is no trace of another', async () => {
  mkdirSync(at('meanwhile'))
  await valueOf(
    replaceFileAtomic(at('meanwhile', 'file'), async (temporary) => {
      await valueOf(checkWritable(at('meanwhile', 'file')))
      writeFileSync(temporary, 'whole')
    })
  )
  assert.equal(readdirSync(at('meanwhile')), ['file'])
})

test('folders are made where they can be, and /proc is a sentence, not a loop', async () => {
  await makeFolder(at('a', 'b', 'c'))
  await makeFolder(at('a', 'b', 'c'))
  assert.ok(statSync(at('a', 'b', 'c')).isDirectory())
  writeFileSync(at('a', 'file'), '')
  for (const path of ['/proc/tilefold/cache', at('a', 'file'), at('a', 'file', 'below')])
    assert.ok(
      await makeFolder(path).then(
        () => false,
        () => true
      )
    )
})

test('of the folder of caches only an absolute path counts', () => {
  const before = process.env['XDG_CACHE_HOME']
  for (const [wanted, folder] of [
    ['/somewhere', '/somewhere/tilefold'],
    ['', join(homedir(), '.cache', 'tilefold')],
    ['.', join(homedir(), '.cache', 'tilefold')],
    ['caches', join(homedir(), '.cache', 'tilefold')]
  ] as const) {
    process.env['XDG_CACHE_HOME'] = wanted
    assert.is(cacheFolder(), folder)
  }
  if (before === undefined) delete process.env['XDG_CACHE_HOME']
  else process.env['XDG_CACHE_HOME'] = before
})

test('an empty or relative HOME does not count either', () => {
  const before = process.env['HOME']
  for (const home of ['', 'here', undefined]) {
    if (home === undefined) delete process.env['HOME']
    else process.env['HOME'] = home
    assert.is(homeFolder(), userInfo().homedir)
  }
  process.env['HOME'] = '/elsewhere'
  assert.is(homeFolder(), '/elsewhere')
  if (before === undefined) delete process.env['HOME']
  else process.env['HOME'] = before
})
;(asRoot ? test : test.skip)('without HOME a user whom the system does not know has no home (only root may become one)', () => {
  const before = process.env['HOME']
  delete process.env['HOME']
  process.seteuid!(4194999)
  try {
    assert.is(homeFolder(), '/')
  } finally {
    process.seteuid!(0)
    if (before !== undefined) process.env['HOME'] = before
  }
})

test('a cache folder in /proc is a sentence; what killed processes have left unpacked goes at the next start', async () => {
  const before = process.env['XDG_CACHE_HOME']
  process.env['XDG_CACHE_HOME'] = '/proc/x'
  assert.match(
    (await failureOf(freeBytes)).message,
    /^\/proc\/x\/tilefold: cannot be used \(no folder can be made there\); set XDG_CACHE_HOME/
  )
  await removeLeftovers()
  process.env['XDG_CACHE_HOME'] = at('cache')
  const left = (pid: number, name = hostname()): string => at('cache', 'tilefold', `unpacked-${name}.${pid}-0123456789ab.tmp`)
  // No process has a number beyond 2^22.
  for (const path of [
    left(4194999),
    left(process.pid),
    left(4194999, 'elsewhere'),
    at('cache', 'tilefold', `unpacked-${hostname()}.4194998.tmp`)
  ]) {
    mkdirSync(path, { recursive: true })
    writeFileSync(join(path, 'image.v'), 'pixels')
  }
  await removeLeftovers()
  process.env['XDG_CACHE_HOME'] = before
  if (before === undefined) delete process.env['XDG_CACHE_HOME']
  assert.equal(
    readdirSync(at('cache', 'tilefold')).sort(),
    [`unpacked-elsewhere.4194999-0123456789ab.tmp`, `unpacked-${hostname()}.${process.pid}-0123456789ab.tmp`].sort()
  )
})

const named = (name: string, path: string) => ({ name, path })

test('files are known by what they are: links, hard links, other ways to write a path, names that differ in case', async () => {
  mkdirSync(at('paths', 'sub'), { recursive: true })
  writeFileSync(at('paths', 'input'), '')
  linkSync(at('paths', 'input'), at('paths', 'hard'))
  symlinkSync('input', at('paths', 'soft'))
  symlinkSync('sub', at('paths', 'folder'))
  const reads = [named('--weights', at('paths', 'input'))]
  for (const path of [at('paths', 'input'), at('paths', 'hard'), at('paths', 'soft'), `${folder}/paths/sub/../input`]) {
    const { code, message } = await failureOf(checkPaths({ reads, writes: [named('--out', path)] }))
    assert.is(code, 'input')
    assert.is(message, `--out ${path} would be written over --weights ${at('paths', 'input')}: name another file`)
  }
  for (const [one, other] of [
    ['new', 'new'],
    ['sub/new', 'folder/new'],
    ['new', 'New'],
    ['soft', 'hard']
  ] as const)
    assert.match(
      (await failureOf(checkPaths({ reads: [], writes: [named('--save', at('paths', one)), named('--best', at('paths', other))] })))
        .message,
      /^--best .* would be written over --save .*: name another file$/
    )
  const apart = [named('--save', at('paths', 'new')), named('--best', at('paths', 'sub', 'new')), named('--metrics', at('none', 'new'))]
  await valueOf(checkPaths({ reads, writes: apart }))
})

test('a path that is not there yet lies in a folder or not', async () => {
  assert.ok(await isInside(at('paths', 'folder', 'x', 'y'), at('paths', 'sub')))
  assert.ok(await isInside(at('paths', 'sub'), at('paths', 'sub')))
  assert.not(await isInside(at('paths', 'subway'), at('paths', 'sub')))
  assert.not(await isInside(at('paths'), at('paths', 'sub')))
  assert.not(await isInside(at('paths'), at('paths', 'absent')))
})

test.run()
