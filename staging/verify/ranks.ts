import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import { getKernelRow } from '../kernels/kernels'
import type { Instruction, Program } from '../program/program'
import { gradientNames, listExchanges, nameOfSent, type NetworkInstruction } from '../program/network-instructions'
import type { ProgramShard } from '../program/program-shard'
import type { ImageRanges, TensorShare } from '../program/program-buffer'
import { catchFault, fail, type VerifierFault } from './fault'
import { type PackingCopies, isTakenInOrder, listPackingCopies, reasonAgainstMessage } from './messages'
import { listSections } from './sections'

const refuse = (message: string): never => fail({ kind: 'exchange', message: `${message}.` })

/** Each Program is that of its rank, of as many as there are, and of as many groups of them. */
const listShards = (programs: readonly Program[]): readonly ProgramShard[] => {
  const shards = programs.map(({ shard }, rank) =>
    shard?.count === programs.length && shard.index === rank
      ? shard
      : refuse(
          `the Program of rank ${rank} of ${programs.length} is ${shard === undefined ? 'none of ranks that share rows' : `of rank ${shard.index} of ${shard.count}`}`
        )
  )
  const other = shards.findIndex(({ groups }) => groups !== shards[0]!.groups)
  if (other !== -1) refuse(`rank ${other} is of ${shards[other]!.groups} groups where rank 0 is of ${shards[0]!.groups}`)
  return shards
}

/** The sections in which each rank exchanges with all; in others with its group, but gradients. */
const ofAllGroups = ['reduce', 'update', 'save']

/** What one rank has packed for another, that takes as what it is. */
const proveMessage = (
  section: string,
  round: number,
  [from, to]: readonly [number, number],
  copies: readonly PackingCopies[],
  all: readonly NetworkInstruction[]
): void => {
  const [sender, receiver] = [all[from]!, all[to]!]
  if (sender.kind !== 'exchange' || receiver.kind !== 'exchange') return
  const sent = sender.sends.find(({ rank }) => rank === to)!
  const received = receiver.receives.find(({ rank }) => rank === from)!
  const reason = reasonAgainstMessage([copies[from]!, copies[to]!], [sent, received], from)
  if (reason !== undefined) refuse(`${section}: what exchange ${round} brings of rank ${from} to rank ${to} ${reason}`)
}

/** What a rank sends in its n-th exchange of a section, the others receive in theirs. */
const proveMatching = (section: string, programs: readonly Program[], codes: readonly (readonly Instruction[])[]): void => {
  const { groups } = programs[0]!.shard!
  const gradients = gradientNames(programs[0]!.persistentTensors)
  const lists = codes.map(listExchanges)
  const copies = programs.map((program, rank) => listPackingCopies(program, codes[rank]!))
  const [first] = lists
  lists.forEach((list, rank) => {
    if (list.length !== first!.length)
      refuse(`${section}: rank ${rank} exchanges ${list.length} times where rank 0 does ${first!.length} times`)
  })
  first!.forEach((_, round) => {
    const all = lists.map((list) => list[round]!)
    const sizes = (one: NetworkInstruction): string =>
      one.kind === 'allToAll' ? `${one.kind} of ${one.bytes} bytes among ${one.ranks} ranks` : `${one.kind} among ${one.ranks} ranks`
    const sentName = nameOfSent(programs[0]!, all[0]!)
    const isOfAll = ofAllGroups.includes(section) || gradients.has(sentName ?? '')
    const ranks = codes.length * (isOfAll ? groups : 1)
    all.forEach((one, rank) => {
      if (sizes(one) !== sizes(all[0]!))
        refuse(`${section}: exchange ${round} of rank ${rank} is ${sizes(one)}, that of rank 0 ${sizes(all[0]!)}`)
      const ofRank = nameOfSent(programs[rank]!, one)
      if (ofRank !== sentName) refuse(`${section}: exchange ${round} of rank ${rank} is of ${ofRank}, that of rank 0 of ${sentName}`)
      if (one.ranks !== ranks) refuse(`${section}: exchange ${round} is among ${one.ranks} ranks of ${ranks}`)
    })
    const bytesBetween = (rank: number, side: 'sends' | 'receives', other: number): number => {
      const one = all[rank]!
      return one.kind === 'exchange' ? (one[side].find((message) => message.rank === other)?.bytes ?? 0) : one.bytes
    }
    for (let from = 0; from < codes.length; from++)
      for (let to = 0; to < codes.length; to++) {
        const [sent, received] = [bytesBetween(from, 'sends', to), bytesBetween(to, 'receives', from)]
        if (sent !== received)
          refuse(`${section}: exchange ${round} brings ${sent} bytes of rank ${from} to rank ${to}, which receives ${received}`)
        if (sent > 0) proveMessage(section, round, [from, to], copies, all)
      }
    all.forEach((one, rank) => {
      if (one.kind === 'exchange' && !isTakenInOrder(copies[rank]!, one))
        refuse(`${section}: exchange ${round} is not taken in the order of ranks by rank ${rank}`)
    })
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

const proveShares = (programs: readonly Program[], shards: readonly ProgramShard[]): void => {
  // In the order of names, since ranks may use them in orders of their own.
  const shared = programs.map(({ buffers }) =>
    buffers.filter(({ share }) => share !== undefined).sort((a, b) => Number(a.name > b.name) - Number(a.name < b.name))
  )
  shared.forEach((list, rank) => {
    if (list.map(({ name }) => name).join() !== shared[0]!.map(({ name }) => name).join())
      refuse(
        `rank ${rank} shares ${list.map(({ name }) => name).join(', ')} where rank 0 shares ${shared[0]!.map(({ name }) => name).join(', ')}`
      )
  })
  shared[0]!.forEach(({ name }, place) =>
    provePartition(
      name,
      shared.map((list) => list[place]!.share)
    )
  )
  if (shards.some(({ target }) => target !== undefined))
    provePartition(
      'the target',
      shards.map(({ target }) => target)
    )
}

/** The buffers of the arena into which an instruction writes, loops aside. */
const writtenBuffers = ({ kernels }: Program, one: Instruction): readonly (number | undefined)[] => {
  switch (one.kind) {
    case 'launch': {
      const uses = Object.values(getKernelRow(kernels[one.kernel]!.kind).operands)
      return one.operands
        .filter(({ space }, operand) => space === 'arena' && (uses[operand] === 'write' || uses[operand] === 'accumulate'))
        .map(({ buffer }) => buffer)
    }
    case 'copy':
      return one.engine === 'to-device' ? [one.device.buffer] : []
    case 'allToAll':
      return [one.receive.buffer]
    case 'exchange':
      return one.receives.map(({ at }) => at.buffer)
    case 'ownSlice':
      return [one.to.buffer]
    default:
      return []
  }
}

/** The last instruction in code order that writes into a buffer of the arena. */
const lastWriter = (program: Program, code: readonly Instruction[], buffer: number): Instruction | undefined =>
  code.reduce<Instruction | undefined>((last, one) => {
    if (one.kind === 'loop') return lastWriter(program, one.body, buffer) ?? last
    return writtenBuffers(program, one).includes(buffer) ? one : last
  }, undefined)

const listText = (names: readonly string[]): string => (names.length === 0 ? 'nothing' : names.join(', '))

/** Statistics that one rank merges all do. */
const proveSameMerged = (shards: readonly ProgramShard[]): void => {
  const [first] = shards
  shards.forEach(({ merged }, rank) => {
    if (merged.join() !== first!.merged.join())
      refuse(`rank ${rank} merges ${listText(merged)} of all ranks where rank 0 does ${listText(first!.merged)}`)
  })
}

/** What is replicated on all ranks counts once: every rank but the first leaves zeros of it. */
const proveReplicated = (programs: readonly Program[], shards: readonly ProgramShard[]): void => {
  programs.forEach((program, rank) => {
    const { replicated } = shards[rank]!
    if (replicated.join() !== shards[0]!.replicated.join())
      refuse(`rank ${rank} replicates ${replicated.join(', ')} where rank 0 does ${shards[0]!.replicated.join(', ')}`)
    for (const { parameter, offset, bytes } of program.persistentTensors.filter((tensor) => tensor.role === 'gradient')) {
      const buffer = program.buffers.findIndex((one) => one.role === 'persistent' && one.offset === offset && one.bytes === bytes)
      const last = lastWriter(program, program.step.code, buffer)
      const isLeft = last?.kind === 'launch' && program.kernels[last.kernel]!.kind === 'zero'
      const isOther = rank > 0 && replicated.includes(parameter)
      if (isLeft !== isOther)
        refuse(
          `rank ${rank} leaves ${isLeft ? 'zeros' : 'a gradient'} of ${parameter}, which ${replicated.includes(parameter) ? 'all ranks replicate' : 'each rank computes of its rows'}`
        )
    }
  })
}

/**
 * Proves of the Programs of ranks that share the rows of each image, and which every group of such
 * ranks runs, each of which `verify` has passed, that they go together: what one sends another
 * receives, in the same order, so that no rank waits for ever; each row of each tensor that they
 * share is one rank's; what is replicated is counted once; and a step exchanges within a group,
 * gradients among all.
 */
export const verifyRanks = (programs: readonly Program[]): E.Either<VerifierFault, void> =>
  pipe(
    catchFault(() => {
      const shards = listShards(programs)
      const sections = programs.map(listSections)
      sections.forEach((list, rank) => {
        if (list.map(([name]) => name).join() !== sections[0]!.map(([name]) => name).join())
          refuse(`rank ${rank} has other sections than rank 0`)
      })
      sections[0]!.forEach(([name], place) =>
        proveMatching(
          name,
          programs,
          sections.map((list) => list[place]![1].code)
        )
      )
      proveShares(programs, shards)
      proveSameMerged(shards)
      proveReplicated(programs, shards)
    })
  )
