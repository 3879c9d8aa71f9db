import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import type { Program } from '../program/program'
import type { ProgramShard } from '../program/program-shard'
import type { ImageRanges, TensorShare } from '../program/program-buffer'
import { catchFault, fail, type VerifierFault } from './fault'
import { partText } from './messages'
import { type Parcel, type RankSummary, type Round, summariseRank } from './rank-summary'

const refuse = (message: string): never => fail({ kind: 'exchange', message: `${message}.` })

/** Each Program is that of its rank, of as many as there are, and of as many groups of them. */
const listShards = (ranks: readonly RankSummary[]): readonly ProgramShard[] => {
  const shards = ranks.map(({ shard }, rank) =>
    shard?.count === ranks.length && shard.index === rank
      ? shard
      : refuse(
          `the Program of rank ${rank} of ${ranks.length} is ${shard === undefined ? 'none of ranks that share rows' : `of rank ${shard.index} of ${shard.count}`}`
        )
  )
  const other = shards.findIndex(({ groups }) => groups !== shards[0]!.groups)
  if (other !== -1) refuse(`rank ${other} is of ${shards[other]!.groups} groups where rank 0 is of ${shards[0]!.groups}`)
  return shards
}

const sizeText = (one: Round): string =>
  one.kind === 'allToAll'
    ? `${one.kind} of ${one.bytes} bytes among ${one.ranks} ranks${one.apart === undefined ? '' : `, ${one.apart} apart`}`
    : `${one.kind} among ${one.ranks} ranks`

const sentText = (one: Round): string | undefined => (one.kind !== 'allToAll' ? undefined : one.rows ? 'rows' : one.sent)

/** What one rank has packed for another, that takes as what it is: rows of a tensor as the same. */
const proveParcel = (where: string, sent: Parcel, received: Parcel): void => {
  const problem = (sentence: string): never => refuse(`${where} ${sentence}`)
  if (sent.content === undefined) problem('is packed by no one copy of whole rows')
  if (received.content === undefined) problem('is taken by no one copy of whole rows')
  if (sent.content !== received.content) problem(`is ${sent.content}, and is taken as ${received.content}`)
  if (received.isAddedRightly !== true) problem(`is ${sent.content}, and is ${received.isAdded === true ? 'added' : 'copied'} there`)
}

/** By rank, what it sends to others, or receives of them, by their ranks. */
const parcelsOf = (all: readonly Round[], side: 'sends' | 'receives'): readonly ReadonlyMap<number, Parcel>[] =>
  all.map((one) => new Map((one.kind === 'exchange' ? one[side] : []).map((parcel) => [parcel.rank, parcel])))

/** Each message of a round comes where it is sent, and nothing else does. */
const proveParcels = (section: string, round: number, all: readonly Round[]): void => {
  const [sends, receives] = [parcelsOf(all, 'sends'), parcelsOf(all, 'receives')]
  const partners = all.map((): Set<number> => new Set())
  sends.forEach((own, from) => own.forEach((_, to) => partners[from]!.add(to)))
  receives.forEach((own, to) => own.forEach((_, from) => partners[from]?.add(to)))
  partners.forEach((others, from) => {
    for (const to of [...others].sort((a, b) => a - b)) {
      const [sent, received] = [sends[from]!.get(to), receives[to]?.get(from)]
      const [bytes, expected] = [sent?.bytes ?? 0, received?.bytes ?? 0]
      if (bytes !== expected)
        refuse(`${section}: exchange ${round} brings ${bytes} bytes of rank ${from} to rank ${to}, which receives ${expected}`)
      if (sent !== undefined && received !== undefined)
        proveParcel(`${section}: what exchange ${round} brings of rank ${from} to rank ${to}`, sent, received)
    }
  })
}

/** What all gather of a tensor each takes as the rows that every rank has sent. */
const proveGathered = (section: string, round: number, all: readonly Round[]): void => {
  const taken = all.map((one) => (one.kind === 'allToAll' ? one.rows?.taken : undefined))
  const [first] = taken
  all.forEach((one, rank) => {
    if (one.kind !== 'allToAll' || one.rows === undefined) return
    const refuseRank = (sentence: string): never => refuse(`${section}: what exchange ${round} gathers ${sentence}`)
    const [own, { content }] = [taken[rank], one.rows]
    if (content === undefined) refuseRank(`is packed by no one copy of whole rows on rank ${rank}`)
    if (own === undefined || first === undefined || own.imageParts * own.rowParts !== all.length)
      return refuseRank(`is taken by no one copy of all rows by rank ${rank}`)
    if (partText(own, 0) !== partText(first, 0) || own.rowParts !== first.rowParts)
      refuseRank(`is taken as parts of ${partText(own, 0)} by rank ${rank}, and of ${partText(first, 0)} by rank 0`)
    const expected = partText(first, rank)
    if (content !== expected) refuseRank(`of rank ${rank} is ${content}, and is taken as ${expected}`)
  })
}

/** What a rank sends in its n-th exchange of a section, the others receive in theirs. */
const proveMatching = (section: string, groups: number, lists: readonly (readonly Round[])[]): void => {
  const [first] = lists
  lists.forEach((list, rank) => {
    if (list.length !== first!.length)
      refuse(`${section}: rank ${rank} exchanges ${list.length} times where rank 0 does ${first!.length} times`)
  })
  first!.forEach((one, round) => {
    const all = lists.map((list) => list[round]!)
    const apart = one.kind === 'allToAll' ? one.apart : undefined
    const ranks = apart === undefined ? lists.length * (one.kind === 'allToAll' && one.isOfAll ? groups : 1) : groups
    if (apart !== undefined && apart !== lists.length)
      refuse(`${section}: exchange ${round} is among ranks that are ${apart} apart, in groups of ${lists.length}`)
    all.forEach((other, rank) => {
      if (sizeText(other) !== sizeText(one))
        refuse(`${section}: exchange ${round} of rank ${rank} is ${sizeText(other)}, that of rank 0 ${sizeText(one)}`)
      if (sentText(other) !== sentText(one))
        refuse(`${section}: exchange ${round} of rank ${rank} is of ${sentText(other)}, that of rank 0 of ${sentText(one)}`)
      if (other.ranks !== ranks) refuse(`${section}: exchange ${round} is among ${other.ranks} ranks of ${ranks}`)
    })
    proveParcels(section, round, all)
    proveGathered(section, round, all)
    const unordered = all.findIndex((other) => other.kind === 'exchange' && !other.isInOrder)
    if (unordered !== -1) refuse(`${section}: exchange ${round} is not taken in the order of ranks by rank ${unordered}`)
  })
}

const sameImages = (a: ImageRanges, b: ImageRanges): boolean => a.images[0] === b.images[0] && a.images[1] === b.images[1]

/** Each row of each image is one rank's; those with the same images follow each other. */
const provePartition = (name: string, shares: readonly (TensorShare | undefined)[]): void => {
  const [first] = shares
  const own = shares.flatMap((share, rank) => {
    if (share === undefined || share.kind !== first?.kind) return refuse(`rank ${rank} shares ${name} otherwise than rank 0`)
    return share.kind === 'alike' ? [] : [share]
  })
  if (own.length === 0) return
  const { of } = own[0]!
  const other = own.findIndex((share) => share.of.images !== of.images || share.of.rows !== of.rows)
  if (other !== -1) return refuse(`rank ${other} shares ${name} otherwise than rank 0`)
  const follow = (what: string, [from, to]: readonly [number, number], reached: number): number =>
    from === reached ? to : refuse(`${what} ${Math.min(reached, from)} of ${name} is not just one rank's`)
  const reach = (what: string, reached: number, end: number): void => {
    if (reached !== end) refuse(`${what} ${reached} of ${name} is no rank's`)
  }
  let [images, rows] = [0, 0]
  own.forEach(({ own: one }, rank) => {
    if (rank === 0 || !sameImages(one, own[rank - 1]!.own)) {
      if (rank > 0) reach('row', rows, of.rows)
      images = follow('image', one.images, images)
      rows = 0
    }
    rows = follow('row', one.rows, rows)
  })
  reach('row', rows, of.rows)
  reach('image', images, of.images)
}

const proveShares = (ranks: readonly RankSummary[], shards: readonly ProgramShard[]): void => {
  const names = ({ shares }: RankSummary): string => shares.map(({ name }) => name).join(', ')
  const first = names(ranks[0]!)
  ranks.forEach((one, rank) => {
    if (names(one) !== first) refuse(`rank ${rank} shares ${names(one)} where rank 0 shares ${first}`)
  })
  ranks[0]!.shares.forEach(({ name }, place) =>
    provePartition(
      name,
      ranks.map(({ shares }) => shares[place]!.share)
    )
  )
  for (const of of ['target', 'summedTarget'] as const)
    if (shards.some((shard) => shard[of] !== undefined))
      provePartition(
        'the target',
        shards.map((shard) => shard[of])
      )
}

const listText = (names: readonly string[]): string => (names.length === 0 ? 'nothing' : names.join(', '))

/** Statistics that one rank merges all do. */
const proveSameMerged = (shards: readonly ProgramShard[]): void => {
  const [first] = shards
  shards.forEach(({ merged }, rank) => {
    if (merged.join() !== first!.merged.join())
      refuse(`rank ${rank} merges ${listText(merged)} of all ranks where rank 0 does ${listText(first!.merged)}`)
  })
}

/** What one rank of a group computes alike all do, and each has what it computes of a gradient. */
const proveReplicated = (ranks: readonly RankSummary[], shards: readonly ProgramShard[]): void => {
  ranks.forEach(({ gradients }, rank) => {
    const { replicated } = shards[rank]!
    if (replicated.join() !== shards[0]!.replicated.join())
      refuse(`rank ${rank} replicates ${listText(replicated)} where rank 0 does ${listText(shards[0]!.replicated)}`)
    for (const { parameter, isLeft } of gradients)
      if (isLeft)
        refuse(
          `rank ${rank} leaves zeros of ${parameter}, which ${replicated.includes(parameter) ? 'every rank computes alike' : 'each rank computes of its rows'}`
        )
  })
}

/** What `verifyRanks` proves, of what each rank tells of its Program. */
export const verifySummaries = (ranks: readonly RankSummary[]): E.Either<VerifierFault, void> =>
  pipe(
    catchFault(() => {
      const shards = listShards(ranks)
      ranks.forEach(({ sections }, rank) => {
        if (sections.map(({ name }) => name).join() !== ranks[0]!.sections.map(({ name }) => name).join())
          refuse(`rank ${rank} has other sections than rank 0`)
      })
      ranks[0]!.sections.forEach(({ name }, place) =>
        proveMatching(
          name,
          shards[0]!.groups,
          ranks.map(({ sections }) => sections[place]!.rounds)
        )
      )
      proveShares(ranks, shards)
      proveSameMerged(shards)
      proveReplicated(ranks, shards)
    })
  )

/**
 * Proves of the Programs of ranks that share the rows of each image, and which every group of such
 * ranks runs, each of which `verify` has passed, that they go together: what one sends another
 * receives, in the same order, so that no rank waits for ever, and takes as the rows that they are;
 * each row of each tensor that they share is one rank's; what is replicated is counted once; and a
 * step exchanges within a group, gradients among all, or among one rank of each group.
 */
export const verifyRanks = (programs: readonly Program[]): E.Either<VerifierFault, void> =>
  pipe(
    catchFault(() => programs.map(summariseRank)),
    E.chain(verifySummaries)
  )
