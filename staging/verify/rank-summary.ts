import { getKernelRow } from '../kernels/kernels'
import { gradientNames, isOfRows, listExchanges, nameOfSent, type NetworkInstruction } from '../program/network-instructions'
import type { Instruction, Program } from '../program/program'
import type { TensorShare } from '../program/program-buffer'
import type { ProgramShard } from '../program/program-shard'
import {
  isTakenInOrder,
  listPackingCopies,
  packedContent,
  takenContent,
  takenParts,
  type GatheredRows,
  type PackingCopies
} from './messages'
import { listSections } from './sections'

/** What goes to a rank, or comes of it. */
export interface Parcel {
  readonly rank: number
  readonly bytes: number
  /** Rows of which tensor it holds, or is taken as; absent where no one copy of rows tells. */
  readonly content?: string
  /** Of what comes: whether it is added, and whether it must be. */
  readonly isAdded?: boolean
  readonly isAddedRightly?: boolean
}

/** What a rank exchanges at once with others. */
export type Round =
  | {
      readonly kind: 'allToAll'
      readonly ranks: number
      readonly bytes: number
      readonly sent?: string
      readonly isOfAll: boolean
      /** How far apart the ranks are, one of each group; absent where they follow each other. */
      readonly apart?: number
      /** Of rows that all gather: which this rank sends, and as what it takes those of all. */
      readonly rows?: { readonly content?: string; readonly taken?: GatheredRows }
    }
  | {
      readonly kind: 'exchange'
      readonly ranks: number
      readonly sends: readonly Parcel[]
      readonly receives: readonly Parcel[]
      readonly isInOrder: boolean
    }

/**
 * What of a rank's Program must go together with those of others, as JSON may have it: each rank
 * makes its own, and all are proved together without a Program.
 */
export interface RankSummary {
  readonly shard?: ProgramShard
  readonly sections: readonly { readonly name: string; readonly rounds: readonly Round[] }[]
  /** In the order of names, since ranks may use them in orders of their own. */
  readonly shares: readonly { readonly name: string; readonly share: TensorShare }[]
  /** By parameter, whether the step leaves zeros of its gradient. */
  readonly gradients: readonly { readonly parameter: string; readonly isLeft: boolean }[]
}

/** The sections in which each rank exchanges with all; in others with its group, but gradients. */
const ofAllGroups = ['reduce', 'update', 'save']

const summariseRound = (copies: PackingCopies, section: string, gradients: ReadonlySet<string>, one: NetworkInstruction): Round => {
  const { program } = copies
  if (one.kind === 'allToAll') {
    if (section === 'step' && isOfRows(program, program.buffers[one.send.buffer!]!)) {
      const taken = takenParts(copies, one)
      const rows = { ...packedContent(copies, { at: one.send }), ...(taken && { taken }) }
      return { kind: 'allToAll', ranks: one.ranks, bytes: one.bytes, isOfAll: false, rows }
    }
    const sent = nameOfSent(program, one)
    const isOfAll = ofAllGroups.includes(section) || gradients.has(sent ?? '')
    const { ranks, apart, bytes } = one
    return { kind: 'allToAll', ranks, bytes, isOfAll, ...(apart > 1 && { apart }), ...(sent !== undefined && { sent }) }
  }
  return {
    kind: 'exchange',
    ranks: one.ranks,
    sends: one.sends.map((message) => ({ rank: message.rank, bytes: message.bytes, ...packedContent(copies, message) })),
    receives: one.receives.map((message) => ({ rank: message.rank, bytes: message.bytes, ...takenContent(copies, message) })),
    isInOrder: isTakenInOrder(copies, one)
  }
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

const summariseGradients = (program: Program): RankSummary['gradients'] =>
  program.persistentTensors
    .filter(({ role }) => role === 'gradient')
    .map(({ parameter, offset, bytes }) => {
      const buffer = program.buffers.findIndex((one) => one.role === 'persistent' && one.offset === offset && one.bytes === bytes)
      const last = lastWriter(program, program.step.code, buffer)
      return { parameter, isLeft: last?.kind === 'launch' && program.kernels[last.kernel]!.kind === 'zero' }
    })

/** What of a Program, which `verify` has passed, other ranks' must go together with. */
export const summariseRank = (program: Program): RankSummary => {
  const gradients = gradientNames(program.persistentTensors)
  return {
    ...(program.shard && { shard: program.shard }),
    sections: listSections(program).map(([name, { code }]) => {
      const copies = listPackingCopies(program, code)
      return { name, rounds: listExchanges(code).map((one) => summariseRound(copies, name, gradients, one)) }
    }),
    shares: program.buffers
      .flatMap(({ name, share }) => (share === undefined ? [] : [{ name, share }]))
      .sort((a, b) => Number(a.name > b.name) - Number(a.name < b.name)),
    gradients: program.shard === undefined ? [] : summariseGradients(program)
  }
}
