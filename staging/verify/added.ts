import { elementSizes } from '../kernels/precision'
import type { Instruction, PersistentTensor, Program } from '../program/program'
import type { AllToAll } from '../program/rank-instructions'
import { gradientAt, sentPiece } from './adding-ranks'
import { fail, failAtByte } from './fault'
import { shardsOptimizer } from './shards-of-optimizer'

type Launch = Extract<Instruction, { readonly kind: 'launch' }>

/** Exchanges of a section that send gradients, with their positions. */
const listScatters = (program: Program, code: readonly Instruction[]) =>
  code.flatMap((one, at) => {
    const gradient = one.kind === 'allToAll' && one.sendStride > 0 ? gradientAt(program, one.send.base) : undefined
    return gradient === undefined ? [] : [{ at, scatter: one as AllToAll, gradient }]
  })

/**
 * Launches that read what an exchange has received, until another exchange receives in its place.
 */
const listAdditions = (
  { kernels }: Program,
  code: readonly Instruction[],
  at: number,
  { receive, receiveStride, ranks, bytes }: AllToAll
): readonly Launch[] => {
  const end = receive.base + (ranks - 1) * receiveStride + bytes
  const isInPlace = (base: number): boolean => receive.base <= base && base < end
  const next = code.findIndex((one, place) => place > at && one.kind === 'allToAll' && isInPlace(one.receive.base))
  return code
    .slice(at + 1, next === -1 ? undefined : next)
    .filter((one): one is Launch => one.kind === 'launch' && kernels[one.kernel]?.kind === 'copyBox' && isInPlace(one.operands[0]!.base))
}

/**
 * Proves that what ranks receive of gradients is added once each, in their order, to the slice of
 * the sum that is of the same elements, in whichever section; and that `update` gathers from there.
 */
export const proveAdded = (program: Program): void => {
  const { persistentTensors, precision, step, reduce, update } = program
  if (reduce === undefined) return
  const { parameterBytes } = elementSizes(precision)
  const sumOf = ({ parameter }: PersistentTensor): PersistentTensor =>
    persistentTensors.find((tensor) => tensor.role === 'sum' && tensor.parameter === parameter) ??
    fail({ kind: 'form', message: `there is a gradient of "${parameter}", and no sum.` })
  const refuse = (section: string, { name }: PersistentTensor, at: number, how: string): never => failAtByte(section, name, at, how)
  const parts = shardsOptimizer(update) ? 'slices' : 'whole'
  for (const [section, { code }] of [
    ['step', step],
    ['reduce', reduce]
  ] as const)
    for (const { at, scatter, gradient } of listScatters(program, code)) {
      const { ranks, apart, bytes, send, receive, receiveStride } = scatter
      const sum = sumOf(gradient)
      const from = (sentPiece(program, scatter)?.base ?? send.base) - gradient.offset
      const additions = listAdditions(program, code, at, scatter)
      const to = sum.offset + (parts === 'slices' ? from / (ranks * apart) : from)
      const isAddition = ({ kernel, operands: [source, destination] }: Launch): boolean => {
        const box = program.kernels[kernel]!
        return (
          box.kind === 'copyBox' &&
          box.add === 1 &&
          box.ofParameters === 1 &&
          box.n0 === ranks &&
          box.n1 * box.n2 === 1 &&
          box.n3 * parameterBytes === bytes &&
          (ranks === 1 || (box.sourceStride0 * parameterBytes === receiveStride && box.destinationStride0 === 0)) &&
          source!.base === receive.base &&
          destination!.base === to
        )
      }
      if (additions.length !== 1 || !additions.every(isAddition))
        refuse(section, gradient, from, 'is not added once, in the order of ranks, to its place in the sum')
    }
  for (const one of update?.code ?? []) {
    const gradient = one.kind === 'allToAll' ? gradientAt(program, one.receive.base) : undefined
    if (gradient === undefined || one.kind !== 'allToAll') continue
    const from = one.receive.base - gradient.offset
    if (one.send.base !== sumOf(gradient).offset + (parts === 'slices' ? from / one.ranks : from))
      refuse('update', gradient, from, 'is gathered from the sum of other bytes')
  }
}
