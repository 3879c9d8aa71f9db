import type * as E from 'fp-ts/Either'
import * as t from 'io-ts'
import { decodeAs } from '../decoding/decode'
import type { RankSummary } from './rank-summary'

const range = t.tuple([t.number, t.number])
const imageRanges = t.type({ images: range, rows: range })
const imageCounts = t.type({ images: t.number, rows: t.number })

const share = t.union([
  t.type({
    ...{ kind: t.literal('part'), held: imageRanges, rowBytes: t.number, own: imageRanges, of: imageCounts },
    isSent: t.boolean
  }),
  t.type({ kind: t.literal('sum'), own: imageRanges, of: imageCounts }),
  t.type({ kind: t.literal('alike') })
])

const names = t.array(t.string)

const shard = t.intersection([
  t.type({ count: t.number, index: t.number, groups: t.number, replicated: names, merged: names }),
  t.partial({ target: share, summedTarget: share })
])

const parcels = t.array(
  t.intersection([
    t.type({ rank: t.number, bytes: t.number }),
    t.partial({ content: t.string, isAdded: t.boolean, isAddedRightly: t.boolean })
  ])
)

const gatheredRows = t.type({ tensor: t.string, images: t.number, rows: t.number, imageParts: t.number, rowParts: t.number })

const round = t.union([
  t.intersection([
    t.type({ kind: t.literal('allToAll'), ranks: t.number, bytes: t.number, isOfAll: t.boolean }),
    t.partial({ sent: t.string, apart: t.number, rows: t.partial({ content: t.string, taken: gatheredRows }) })
  ]),
  t.type({ kind: t.literal('exchange'), ranks: t.number, sends: parcels, receives: parcels, isInOrder: t.boolean })
])

const summary = t.intersection([
  t.type({
    sections: t.array(t.type({ name: t.string, rounds: t.array(round) })),
    shares: t.array(t.type({ name: t.string, share })),
    gradients: t.array(t.type({ parameter: t.string, isLeft: t.boolean }))
  }),
  t.partial({ shard })
])

/** What another rank tells of its Program, or words on what is wrong with it. */
export const decodeRankSummary: (value: unknown) => E.Either<string, RankSummary> = decodeAs('summary', summary)
