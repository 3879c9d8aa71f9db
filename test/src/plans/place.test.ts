/** `tilefold place`: CSV in, offsets out, and one sentence for whatever is wrong with the CSV. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { place } from '../../../src'
import { root } from '../command-line'
import { compiledCommand } from '../compiled-command'
import { failureOf, valueOf } from '../outcome'
import { temporaryFolder } from '../temporary-folder'

const folder = temporaryFolder()
const { runInTurn: run } = compiledCommand()
const at = (name: string): string => join(folder, name)
const csv = (name: string, ...rows: readonly string[]): string => {
  writeFileSync(at(name), ['id,lower,upper,size', ...rows, ''].join('\n'))
  return at(name)
}
const binary = (): string => {
  writeFileSync(at('binary.csv'), Buffer.from([0x89, 0x50, 0, 1]))
  return at('binary.csv')
}
const hardest = join(root, 'test', 'staging', 'instances', 'A.1048576.csv')
/** 90 bytes are live at once, but by the time of c, b lies between the holes. */
const parted = ['a,0,2,20', 'b,0,6,30', 'c,2,6,60']

test('a public instance fits its capacity, and the rows come back with offsets', async () => {
  const { status, stdout, stderr } = await run(['place', hardest, '--capacity', '1048576', '--out', at('placed.csv'), '--json'])
  assert.is(status, 0, stderr)
  const { height, maxLive, ratio, feasible, optimal, ms, placement } = JSON.parse(stdout)
  assert.equal([height, maxLive, ratio, feasible, optimal, placement], [1048576, 1048576, 1, true, true, 'static'])
  assert.ok(ms > 0)
  const [header, ...placed] = readFileSync(at('placed.csv'), 'utf8').trimEnd().split('\n')
  assert.is(header, 'id,lower,upper,size,offset')
  const [, ...given] = readFileSync(hardest, 'utf8').trimEnd().split('\n')
  assert.equal(
    placed.map((row) => row.slice(0, row.lastIndexOf(','))),
    given
  )
  const rows = placed.map((row) => row.split(',').map(Number) as [number, number, number, number, number])
  for (const [i, [, lower, upper, size, offset]] of rows.entries()) {
    assert.ok(offset >= 0 && offset + size <= 1048576)
    for (const [, otherLower, otherUpper, otherSize, otherOffset] of rows.slice(0, i))
      assert.ok(upper <= otherLower || otherUpper <= lower || offset + size <= otherOffset || otherOffset + otherSize <= offset)
  }
})

test('what exceeds the capacity is exit 3 with the figures all the same, and nothing is written', async () => {
  const args = ['place', csv('parted.csv', ...parted), '--placement', 'best-fit', '--capacity', '100']
  const { status, stdout, stderr } = await run([...args, '--out', at('unplaced.csv'), '--json'])
  assert.is(status, 3)
  const said = 'best-fit places the buffers in 110 bytes, over the capacity of 100; raise --capacity or use --placement static.'
  assert.is(stderr, `${said}\n`)
  const { height, maxLive, feasible, reason, error } = JSON.parse(stdout)
  assert.equal([height, maxLive, feasible, reason, error], [110, 90, false, said, { code: 'budget', message: said }])
  assert.throws(() => readFileSync(at('unplaced.csv')), /ENOENT/)
  assert.is((await valueOf(place({ file: at('parted.csv'), capacity: 100 }))).height, 90)
  const { message } = await failureOf(place({ file: at('parted.csv'), capacity: 80 }))
  assert.match(message, /^90 bytes are live at once, over the capacity of 80/)
})

test('each placement is there, and in words too', async () => {
  const heights = { static: 90, 'best-fit': 110, gtbm: 90, virtual: 98 }
  for (const [placement, height] of Object.entries(heights)) {
    const chunk = placement === 'virtual' ? ['--page-size', '7'] : []
    const { status, stdout } = await run(['place', csv('parted.csv', ...parted), '--placement', placement, ...chunk])
    assert.is(status, 0)
    assert.match(stdout, new RegExp(`^${placement}: 3 buffers in ${height} bytes, [\\d.]+ of the 90 live at once`))
  }
})

test('capacity and chunk are sizes', async () => {
  const args = ['place', csv('parted.csv', ...parted), '--placement', 'virtual', '--json']
  const { status, stdout, stderr } = await run([...args, '--capacity', '12KiB', '--page-size', '2KB'])
  assert.is(status, 0, stderr)
  const { capacity, height } = JSON.parse(stdout)
  assert.equal([capacity, height], [12288, 4000])
})

test('a file may lack the header, have carriage returns, empty lines and quoted ids, and buffers of nothing', async () => {
  writeFileSync(at('plain.csv'), '"conv, 1",0,2,8\r\n\r\nb,1,3,0\r\n')
  await valueOf(place({ file: at('plain.csv'), out: at('plain-placed.csv') }))
  assert.is(readFileSync(at('plain-placed.csv'), 'utf8'), 'id,lower,upper,size,offset\n"conv, 1",0,2,8,0\nb,1,3,0,0\n')
})

const wrong: readonly (readonly [name: string, args: () => readonly string[], sentence: RegExp])[] = [
  ['a file that is absent', () => [at('nowhere.csv')], /^the buffer file .*nowhere\.csv cannot be read: no such file/],
  ['a folder', () => [folder], /^the buffer file .* cannot be read: /],
  ['a file that is no text', () => [binary()], /binary\.csv cannot be read: it is not text; give a CSV of id,lower,upper,size rows/],
  ['no rows', () => [csv('empty.csv')], /empty\.csv has no rows of id,lower,upper,size/],
  ['a size too few', () => [csv('short.csv', 'a,0,1')], /short\.csv line 2: "a,0,1" is not id,lower,upper,size/],
  ['an empty size', () => [csv('no-size.csv', 'a,0,1,')], /line 2: the size "" is not a whole number/],
  ['a negative size', () => [csv('negative.csv', 'a,0,1,8', 'b,0,1,-8')], /line 3: the size "-8" is not a whole number/],
  ['a broken lower end', () => [csv('broken.csv', 'a,0.5,1,8')], /line 2: the lower "0\.5" is not a whole number/],
  ['a word', () => [csv('word.csv', 'a,0,late,8')], /line 2: the upper "late" is not a whole number/],
  ['a size beyond doubles', () => [csv('huge.csv', 'a,0,1,9007199254740993')], /the size "9007199254740993" is not a whole number/],
  ['sizes beyond doubles together', () => [csv('sum.csv', 'a,0,1,9007199254740991', 'b,0,1,2')], /add up to more than 2\^53/],
  ['an empty lifetime', () => [csv('dead.csv', 'a,4,4,8')], /line 2: the lower end 4 of the lifetime is not below the upper end 4/],
  ['a lifetime that ends first', () => [csv('back.csv', 'a,5,4,8')], /line 2: the lower end 5 of the lifetime is not below/],
  ['two buffers of one id', () => [csv('twice.csv', 'a,0,1,8', 'a,0,1,8')], /more than one buffer with the id a/],
  ['a size over the capacity', () => [csv('over.csv', 'a,0,1,8'), '--capacity', '7'], /line 2: the size 8 is over the capacity of 7/],
  ['a capacity of nothing', () => [hardest, '--capacity', '0'], /^--capacity: "0" is not a size: write bytes, KiB /],
  [
    'a share for a capacity',
    () => [hardest, '--capacity', '20%'],
    /^--capacity: "20%" is not a size: write bytes, KiB MiB GiB, or KB MB GB\.$/m
  ],
  ['chunks of what has none', () => [hardest, '--page-size', '7'], /^--page-size: static has no pages of memory; .*--placement virtual/],
  ['an unknown placement', () => [hardest, '--placement', 'luck'], /^--placement: Allowed choices are static, best-fit, gtbm, virtual/],
  ['nowhere to write', () => [hardest, '--out', at('nowhere/o.csv')], /nowhere\/o\.csv: cannot be written \(no such file or directory\)/]
]

for (const [name, args, sentence] of wrong) {
  test(`${name}: exit 2`, async () => {
    const { status, stdout, stderr } = await run(['place', ...args(), '--json'])
    assert.is(status, 2)
    assert.match(stderr, sentence)
    assert.match(stderr, /^[^\n]+\.\n$/)
    assert.equal(JSON.parse(stdout), { error: { code: 'input', message: stderr.trimEnd() } })
  })
}

test.run()
