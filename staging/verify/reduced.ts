import type { Program, Section } from '../program/program'
import type { AllToAll } from '../program/rank-instructions'
import { fail, failAtByte } from './fault'
import { firstNotOnce, type Range } from './once'
import { shardsOptimizer } from './shards-of-optimizer'

const listExchanges = (section: Section | undefined): readonly AllToAll[] =>
  (section?.code ?? []).flatMap((one) => (one.kind === 'allToAll' ? [one] : []))

const reachOf = ({ ranks, bytes }: AllToAll, base: number, stride: number): Range => [base, base + (ranks - 1) * stride + bytes]

/** What of a step sends gradients: all else that ranks exchange there is of their rows. */
const listSentGradients = ({ persistentTensors, step }: Program): readonly AllToAll[] => {
  const gradients = persistentTensors.filter(({ role }) => role === 'gradient')
  return listExchanges(step).filter(({ send: { base } }) => gradients.some(({ offset, bytes }) => offset <= base && base < offset + bytes))
}

/**
 * Proves, of a Program whose ranks share the micro-batches of an update, that nothing of a gradient
 * is dropped or counted twice: `step` or `reduce` sends each byte of each gradient to the one rank
 * that adds it, and `reduce` of all moments to all ranks, and `update` receives each byte of each
 * gradient that it needs whole, once. All ranks run this same Program, so what one sends in its
 * n-th exchange the others receive in theirs.
 */
export const proveReduced = (whole: Program): void => {
  const { persistentTensors, reduce, update, ...program } = whole
  if (reduce === undefined) {
    const lonely = [update, program.step, program.restore, program.save, program.evaluate].flatMap(listExchanges)
    return lonely.length === 0 ? undefined : fail({ kind: 'form', message: 'ranks exchange without a section reduce.' })
  }
  const beside = listSentGradients(whole)
  const [reducing, gathering] = [[...beside, ...listExchanges(reduce)], listExchanges(update)]
  const ranks = new Set([...reducing, ...gathering].map((one) => one.ranks))
  if (ranks.size > 1) fail({ kind: 'form', message: `exchanges are with ${[...ranks].join(' and with ')} ranks.` })
  const isScatter = ({ bytes, sendStride }: AllToAll): boolean => sendStride === bytes
  const sent = (exchanged: readonly AllToAll[]) => exchanged.map((one) => reachOf(one, one.send.base, one.sendStride))
  const scattered = sent(reducing.filter(isScatter))
  const told = sent(reducing.filter(({ sendStride }) => sendStride === 0))
  const gathered = gathering.map((one) => reachOf(one, one.receive.base, one.receiveStride))
  // Of slices alone, where they are updated and no norm is told of all.
  const needsWhole = !shardsOptimizer(update) || update!.stepIo.length > 0
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
