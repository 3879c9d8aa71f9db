import { kernelTable } from '../kernels/kernels'
import { elementSizes } from '../kernels/precision'
import type { Instruction, PersistentTensor, Program } from '../program/program'
import type { AllToAll, OwnSlice } from '../program/rank-instructions'
import { fail, failAtByte } from './fault'
import { firstNotOnce, type Range } from './once'

const listKind = <K extends Instruction['kind']>(
  code: readonly Instruction[],
  kind: K
): readonly (readonly [at: number, one: Extract<Instruction, { readonly kind: K }>])[] =>
  code.flatMap((one, at) => (one.kind === kind ? [[at, one as Extract<Instruction, { readonly kind: K }>] as const] : []))

/** A parameter that ranks update by slices. */
interface Sliced {
  readonly weights: PersistentTensor
  /** Its optimizer state, gradient and sum of gradients, by role. */
  readonly of: ReadonlyMap<string, PersistentTensor>
}

const optimizers: readonly string[] = ['sgd', 'adam']

const refuse = (section: string, { name }: PersistentTensor, at: number, how: string): never => failAtByte(section, name, at, how)

const listSliced = ({ persistentTensors }: Program): readonly Sliced[] =>
  persistentTensors
    .filter(({ role }) => role === 'gradient')
    .map(({ parameter }) => {
      const weights = persistentTensors.find((tensor) => tensor.name === parameter)
      if (weights === undefined) return fail({ kind: 'form', message: `there is a gradient of "${parameter}", and no such parameter.` })
      const others = persistentTensors.filter((tensor) => tensor !== weights && tensor.parameter === parameter)
      return { weights, of: new Map(others.map((tensor) => [tensor.role, tensor])) }
    })

const proveOnce = (section: string, tensor: PersistentTensor, ranges: readonly Range[], verb: string): void => {
  const wrong = firstNotOnce([tensor.offset, tensor.offset + tensor.bytes], ranges)
  if (wrong !== undefined) refuse(section, tensor, wrong - tensor.offset, `is not ${verb} once`)
}

/** Whether slices of all ranks begin where that of one does, of a tensor that has only its own. */
const isAt = (whole: number, { offset }: PersistentTensor, own: number, slices: PersistentTensor, ranks: number): boolean =>
  whole - offset === (own - slices.offset) * ranks

/** Each byte of the weights comes once from the rank that has updated it, by its sum and state. */
const proveUpdated = (program: Program, { weights, of }: Sliced): void => {
  const { code } = program.update!
  const within = ({ receive }: AllToAll): boolean => receive.base >= weights.offset && receive.base < weights.offset + weights.bytes
  const gathers = listKind(code, 'allToAll').filter(([, one]) => within(one))
  proveOnce(
    'update',
    weights,
    gathers.map(([, { receive, ranks, receiveStride, bytes }]) => [receive.base, receive.base + (ranks - 1) * receiveStride + bytes]),
    'received'
  )
  const { parameterBytes } = elementSizes(program.precision)
  for (const [at, gather] of gathers) {
    const { send, receive, bytes, ranks } = gather
    const isSlice = ({ from, to, ...own }: OwnSlice): boolean =>
      from.base === receive.base && to.base === send.base && own.bytes === bytes && own.ranks === ranks
    const taken = listKind(code, 'ownSlice')
      .filter(([before, own]) => before < at && own.to.base === send.base)
      .at(-1)
    const wrong = (how: string): never => refuse('update', weights, receive.base - weights.offset, how)
    if (taken === undefined || !isSlice(taken[1]) || gather.sendStride !== 0) return wrong('is not of the slice that a rank has taken')
    const updates = listKind(code, 'launch').filter(([place, { operands, kernel }]) => {
      const isUpdate = optimizers.includes(program.kernels[kernel]?.kind ?? '')
      return taken[0] < place && place < at && isUpdate && operands[0]!.base === send.base
    })
    const [only, ...more] = updates.map(([, update]) => update)
    if (only === undefined || more.length > 0) return wrong(`is updated ${updates.length} times`)
    const kernel = program.kernels[only.kernel]!
    const names = Object.keys(kernelTable[kernel.kind].operands)
    const isWhole = 'count' in kernel && kernel.count * parameterBytes === bytes
    const isOwn = only.operands.every(({ space, base }, place) => {
      const role = names[place] === 'gradient' ? 'sum' : names[place]!
      if (space === 'none' || role === 'weights') return true
      const tensor = of.get(role)
      return tensor !== undefined && isAt(receive.base, weights, base, tensor, ranks)
    })
    if (!isWhole || !isOwn) wrong('is updated by the sum or the state of other bytes')
  }
}

/** Each byte of a state is a rank's to restore, and to save, once and in its place. */
const proveTransferred = ({ restore, save }: Program, { of }: Sliced): void => {
  const gradient = of.get('gradient')!
  for (const [role, state] of of) {
    if (role === 'gradient' || role === 'sum') continue
    const within = ({ base }: { readonly base: number }): boolean => base >= state.offset && base < state.offset + state.bytes
    const taken = listKind(restore.code, 'ownSlice').filter(([, { to }]) => within(to))
    const sent = listKind(save.code, 'allToAll').filter(([, { send }]) => within(send))
    const rangeOf = (base: number, bytes: number): Range => [base, base + bytes]
    proveOnce(
      'restore',
      state,
      taken.map(([, { to, bytes }]) => rangeOf(to.base, bytes)),
      'taken'
    )
    proveOnce(
      'save',
      state,
      sent.map(([, { send, bytes }]) => rangeOf(send.base, bytes)),
      'sent'
    )
    for (const [, { from, to, ranks }] of taken)
      if (!isAt(from.base, gradient, to.base, state, ranks)) refuse('restore', state, to.base - state.offset, 'is of another slice')
    for (const [, { send, receive, ranks }] of sent)
      if (!isAt(receive.base, gradient, send.base, state, ranks)) refuse('save', state, send.base - state.offset, 'is of another slice')
  }
}

/** Whether ranks update slices of the parameters, each its own. */
export const shardsOptimizer = (update: Program['update']): boolean =>
  update !== undefined && update.code.some(({ kind }) => kind === 'ownSlice')

/**
 * Proves, of a Program whose ranks update slices of the parameters, that each slice is updated
 * once, by the rank whose it is, from the sum of gradients and the optimizer state of the same
 * elements, and gathered once by all; and that states are restored and saved by the same slices.
 * All ranks run this same Program, each with the slice of its number.
 */
export const proveShardsOfOptimizer = (program: Program): void => {
  if (!shardsOptimizer(program.update)) return
  for (const sliced of listSliced(program)) {
    proveUpdated(program, sliced)
    proveTransferred(program, sliced)
  }
}
