/**
 * Plan files that an earlier version wrote, whose fields have other names now: `earlier-plans/`
 * holds them as they were written.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import * as E from 'fp-ts/Either'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import type { PlanFile } from '../../../dsl'
import { earlierNames } from '../../../dsl/internal'
import { type LoadedPlan, loadPlan } from '../../../src/plans/plan-file'
import { decodePlanFile } from '../../../staging'
import { tilefold } from '../command-line'
import { temporaryFolder } from '../temporary-folder'

const earlier = (name: string): string => join(__dirname, 'earlier-plans', name)
const folder = temporaryFolder()
const model = earlier('net.ts')
const machine = ['--device', 'reference', '--precision', 'float32', '--threads', '1'] as const

const names = Object.assign({}, ...Object.values(earlierNames)) as Readonly<Record<string, string>>

/** The text of a plan file with today's names. */
const renamed = (text: string): string =>
  Object.entries(names).reduce((all, [before, now]) => all.replace(new RegExp(`\\b${before}\\b`, 'g'), now), text)

const load = async (path: string): Promise<LoadedPlan> => {
  const loaded = await loadPlan(path)()
  assert.ok(E.isRight(loaded), JSON.stringify(loaded))
  return loaded.right
}

const files = {
  rows: 'loadsAhead (now prefetch), repeats (now rematerialize), streams (now hostTensors)',
  swapped: 'residence (now swapSchedule), winners (now indices), chunkBytes (now pageBytes)'
}

for (const [name, found] of Object.entries(files)) {
  test(`${name}: JSON and TypeScript are read as if they had today's names`, async () => {
    const text = readFileSync(earlier(`${name}.json`), 'utf8')
    const today: PlanFile = JSON.parse(renamed(text))
    assert.not.equal(today, JSON.parse(text))
    for (const file of [earlier(`${name}.json`), earlier(`${name}.plan.ts`)]) {
      const { plan, notice } = await load(file)
      assert.equal(plan, today)
      assert.is(notice, `the plan ${file} has earlier names of fields: ${found}; tilefold plan with --plan and --out writes it anew`)
    }
    assert.equal(decodePlanFile(today), E.right({ plan: today, renamed: [] }))
  })

  test(`${name}: the command says once what it found, and writes the plan anew`, async () => {
    for (const [form, read] of [
      ['plan.ts', 'json'],
      ['json', 'plan.ts']
    ] as const) {
      const [file, anew] = [earlier(`${name}.${read}`), join(folder, `${name}.${form}`)]
      const { status, stderr } = await tilefold(['plan', model, ...machine, '--plan', file, '--out', anew])
      assert.is(status, 0, stderr)
      assert.is(stderr, `${(await load(file)).notice}.\n`)
      const { plan, notice } = await load(anew)
      assert.is(notice, undefined)
      assert.equal(plan, (await load(file)).plan)
    }
  })
}

test('a field under both of its names is refused, at any depth', () => {
  const plan = JSON.parse(readFileSync(earlier('rows.json'), 'utf8'))
  const swapped = JSON.parse(readFileSync(earlier('swapped.json'), 'utf8'))
  const [first, ...others] = plan.segments
  for (const [both, sentence] of [
    [{ ...swapped, swapSchedule: [] }, 'a plan has both swapSchedule and residence, which is its earlier name; leave residence out'],
    [
      { ...plan, segments: [{ ...first, prefetch: true }, ...others] },
      'a segment has both prefetch and loadsAhead, which is its earlier name; leave loadsAhead out'
    ],
    [
      { ...swapped, placement: { ...swapped.placement, pageBytes: 4096 } },
      'a placement has both pageBytes and chunkBytes, which is its earlier name; leave chunkBytes out'
    ]
  ])
    assert.equal(decodePlanFile(both), E.left(sentence))
})

test('what is wrong in an earlier field is said of today’s', () => {
  const swapped = JSON.parse(readFileSync(earlier('swapped.json'), 'utf8'))
  assert.equal(decodePlanFile({ ...swapped, residence: 1 }), E.left('swapSchedule is 1, not a list'))
  for (const value of [null, [], 'plan', { segments: 3 }, { segments: [null] }, { placement: null }])
    assert.ok(E.isLeft(decodePlanFile(value)))
})

test.run()
