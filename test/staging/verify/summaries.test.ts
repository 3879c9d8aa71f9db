/** Ranks whose Programs do not go together are refused, each with its sentence. */
import { isLeft } from 'fp-ts/Either'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { decodeRankSummary, summariseRank, verifySummaries, type Program } from '../../../staging'
import { must } from '../../must'
import { programsOf } from '../shared-rows'

test('ranks prove from what each tells of its Program that all go together', () => {
  const tell = (programs: readonly Program[]): readonly unknown[] =>
    programs.map((program) => JSON.parse(JSON.stringify(summariseRank(program))) as unknown)
  const decoded = (told: readonly unknown[]) => told.map((one) => must(decodeRankSummary(one)))
  assert.is(isLeft(verifySummaries(decoded(tell(programsOf(7))))), false)
  const [first, , ...others] = tell(programsOf(4))
  const together = verifySummaries(decoded([first, first, ...others]))
  assert.is(isLeft(together) && together.left.message, 'the Program of rank 1 of 4 is of rank 0 of 4.')
  const wrong = decodeRankSummary({ ...(first as object), shares: [{ name: 'a', share: { kind: 'rows' } }] })
  assert.match(isLeft(wrong) ? wrong.left : '', /^shares\[0\]\.share/)
})

type Told = ReturnType<typeof summariseRank>
type Round = Told['sections'][number]['rounds'][number]
type Share = Told['shares'][number]['share']
type Part = Extract<Share, { readonly kind: 'part' }>

const sound = programsOf(3).map(summariseRank)
const names = sound[0]!.shares.map(({ name }) => name)

/** What is said of three ranks that tell otherwise. */
const sentenceOf = (change: (told: Told, rank: number) => Told): string => {
  const together = verifySummaries(sound.map(change))
  return isLeft(together) ? together.left.message : 'nothing is wrong'
}

const inStep =
  (change: (rounds: readonly Round[]) => readonly Round[]) =>
  (told: Told): Told => ({
    ...told,
    sections: told.sections.map((one) => (one.name === 'step' ? { ...one, rounds: change(one.rounds) } : one))
  })

/** Changes the first exchange of messages. */
const inExchange = (change: (one: Extract<Round, { readonly kind: 'exchange' }>) => Round) =>
  inStep((rounds) => {
    const at = rounds.findIndex(({ kind }) => kind === 'exchange')
    return rounds.map((one, index) => (index === at && one.kind === 'exchange' ? change(one) : one))
  })

const ofShard =
  (changes: Partial<NonNullable<Told['shard']>>) =>
  (told: Told): Told => ({ ...told, shard: { ...told.shard!, ...changes } })

/** Changes the first share, which is of rows. */
const ofShare =
  (change: (one: Told['shares'][number]) => Told['shares'][number]) =>
  (told: Told): Told => ({ ...told, shares: told.shares.with(0, change(told.shares[0]!)) })

const ofRows = (change: (share: Part) => Part) =>
  ofShare(({ name, share }) => ({ name, share: share.kind === 'part' ? change(share) : share }))

const otherwise = 'rank 1 shares the gradient of the output of 1 otherwise than rank 0.'

test('three ranks that tell of their Programs go together', () =>
  assert.is(
    sentenceOf((told) => told),
    'nothing is wrong'
  ))

for (const [what, change, sentence] of [
  ['is none of them', ({ shard: _, ...told }) => told, 'the Program of rank 1 of 3 is none of ranks that share rows.'],
  ['has other sections', (told) => ({ ...told, sections: told.sections.slice(1) }), 'rank 1 has other sections than rank 0.'],
  ['exchanges less often', inStep((rounds) => rounds.slice(0, -1)), 'step: rank 1 exchanges 4 times where rank 0 does 5 times.'],
  [
    'takes what comes in another order',
    inExchange((one) => ({ ...one, isInOrder: false })),
    'step: exchange 0 is not taken in the order of ranks by rank 1.'
  ],
  [
    'takes no whole rows',
    inExchange((one) => ({ ...one, receives: one.receives.map(({ content: _, ...parcel }) => parcel) })),
    'step: what exchange 0 brings of rank 0 to rank 1 is taken by no one copy of whole rows.'
  ],
  [
    'calls a tensor otherwise',
    ofShare((one) => ({ ...one, name: 'another' })),
    `rank 1 shares ${['another', ...names.slice(1)].join(', ')} where rank 0 shares ${names.join(', ')}.`
  ],
  ['has all of a tensor', ofShare((one) => ({ ...one, share: { kind: 'alike' } })), otherwise],
  ['shares a tensor of more rows', ofRows(({ of, ...share }) => ({ ...share, of: { ...of, rows: of.rows + 1 } })), otherwise],
  ['shares a tensor of more images', ofRows(({ of, ...share }) => ({ ...share, of: { ...of, images: of.images + 1 } })), otherwise],
  ['merges statistics', ofShard({ merged: ['x'] }), 'rank 1 merges x of all ranks where rank 0 does nothing.'],
  ['replicates nothing', ofShard({ replicated: [] }), 'rank 1 replicates nothing where rank 0 does 7.weight, 7.bias.']
] as readonly (readonly [string, (told: Told) => Told, string])[])
  test(`ranks do not go together where one ${what}`, () =>
    assert.is(
      sentenceOf((told, rank) => (rank === 1 ? change(told) : told)),
      sentence
    ))

test('each row of what ranks share is one of theirs', () => {
  const withoutLast = ofRows((share) => ({ ...share, own: { ...share.own, rows: [share.own.rows[0], 63] } }))
  const ended = sentenceOf((told, rank) => (rank === 2 ? withoutLast(told) : told))
  assert.is(ended, "row 63 of the gradient of the output of 1 is no rank's.")
})

for (const which of ['target', 'summedTarget'] as const)
  test(`ranks share one ${which}`, () => {
    const [first, second] = sound.map(({ shares }) => shares[0]!.share) as [Share, Share]
    const withTarget = (twice: Share) => sentenceOf((told, rank) => ofShard({ [which]: rank === 1 ? twice : told.shares[0]!.share })(told))
    assert.is(withTarget(second), 'nothing is wrong')
    assert.is(withTarget(first), "row 0 of the target is not just one rank's.")
  })

test.run()
