import type { PersistentTensor, Program, Section } from '../program/program'
import type { AllToAll } from '../program/rank-instructions'
import { addingRanks, gradientAt, sentPiece, type AddingRanks } from './adding-ranks'
import { fail, failAtByte } from './fault'
import { firstNotOnce, type Range } from './once'
import { shardsOptimizer } from './shards-of-optimizer'

const listAllToAlls = (section: Section | undefined): readonly AllToAll[] =>
  (section?.code ?? []).flatMap((one) => (one.kind === 'allToAll' ? [one] : []))

const reachOf = ({ ranks, bytes }: AllToAll, base: number, stride: number): Range => [base, base + (ranks - 1) * stride + bytes]

/** What of a step sends gradients: all else that ranks exchange there is of their rows. */
const listSentGradients = (program: Program): readonly AllToAll[] =>
  listAllToAlls(program.step).filter(({ send: { base } }) => gradientAt(program, base) !== undefined)

const ranksText = ({ ranks, apart }: AddingRanks): string =>
  ranks === 1 ? 'one rank' : `${ranks} ranks${apart > 1 ? ` that are ${apart} apart` : ''}`

/** An exchange of a gradient is among the ranks that add it, any other among all. */
const proveRanks = (program: Program, all: number, one: AllToAll, gradient: PersistentTensor | undefined): void => {
  const expected = gradient === undefined ? { ranks: all, apart: 1 } : addingRanks(program, gradient.parameter, all)
  if (one.ranks !== expected.ranks || one.apart !== expected.apart)
    fail({
      kind: 'exchange',
      message: `${gradient === undefined ? 'what all ranks need' : `the gradient of ${gradient.parameter}`} is exchanged among ${ranksText(one)}, not among ${ranksText(expected)}.`
    })
}

/**
 * Proves, of a Program whose ranks share the micro-batches of an update, that nothing of a gradient
 * is dropped or counted twice: `step` or `reduce` sends each byte of each gradient to the one rank
 * that adds it, or, where a group computes it alike, to the one of each group, and `reduce` of all
 * moments to all ranks, and `update` receives each byte of each gradient that it needs whole, once.
 * All ranks run this same Program, so what one sends in its n-th exchange the others receive in
 * theirs.
 */
export const proveReduced = (whole: Program): void => {
  const { persistentTensors, reduce, update, ...program } = whole
  if (reduce === undefined) {
    const lonely = [update, program.step, program.restore, program.save, program.evaluate].flatMap(listAllToAlls)
    return lonely.length === 0 ? undefined : fail({ kind: 'form', message: 'ranks exchange without a section reduce.' })
  }
  const beside = listSentGradients(whole)
  const [reducing, gathering] = [[...beside, ...listAllToAlls(reduce)], listAllToAlls(update)]
  const ranks = new Set([...reducing, ...gathering].map((one) => one.ranks * one.apart))
  if (ranks.size > 1) fail({ kind: 'form', message: `exchanges are with ${[...ranks].join(' and with ')} ranks.` })
  const [all = 1] = ranks
  for (const one of reducing) proveRanks(whole, all, one, gradientAt(whole, one.send.base))
  // Slices of gradients that each rank updates alone all are told.
  const isSharded = shardsOptimizer(update)
  for (const one of gathering) proveRanks(whole, all, one, isSharded ? undefined : gradientAt(whole, one.receive.base))
  const scattered = reducing.flatMap((one): readonly Range[] => {
    const piece = one.sendStride === 0 ? undefined : sentPiece(whole, one)
    return piece === undefined ? [] : [[piece.base, piece.base + piece.bytes]]
  })
  const told = reducing.filter(({ sendStride }) => sendStride === 0).map((one) => reachOf(one, one.send.base, one.sendStride))
  const gathered = gathering.map((one) => reachOf(one, one.receive.base, one.receiveStride))
  // Of slices alone, where they are updated and no norm is told of all.
  const needsWhole = !isSharded || update!.stepIo.length > 0
  for (const { name, role, offset, bytes } of persistentTensors) {
    const check = (section: string, ranges: readonly Range[], verb: string): void => {
      const wrong = firstNotOnce([offset, offset + bytes], ranges)
      if (wrong !== undefined) failAtByte(section, name, wrong - offset, `is not ${verb} once`)
    }
    if (role === 'gradient') {
      check(beside.length > 0 ? 'step and reduce' : 'reduce', scattered, 'sent')
      if (needsWhole) check('update', gathered, 'received')
    }
    if (role === 'moments') check('reduce', told, 'sent')
  }
}
