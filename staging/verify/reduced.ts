import type { AllToAll, Program, Section } from '../program/program'
import { fail } from './fault'

/** Bytes of the arena, half-open. */
type Range = readonly [from: number, to: number]

const listExchanges = (section: Section | undefined): readonly AllToAll[] =>
  (section?.code ?? []).flatMap((one) => (one.kind === 'allToAll' ? [one] : []))

const reachOf = ({ ranks, bytes }: AllToAll, base: number, stride: number): Range => [base, base + (ranks - 1) * stride + bytes]

/** The first byte of a range that is not in just one of others; undefined where all are. */
const firstNotOnce = ([from, to]: Range, others: readonly Range[]): number | undefined => {
  let reached = from
  for (const other of others.filter((one) => one[0] < to && from < one[1]).sort((a, b) => a[0] - b[0])) {
    if (other[0] !== reached) return Math.max(from, Math.min(reached, other[0]))
    reached = other[1]
  }
  return reached < to ? reached : undefined
}

/**
 * Proves, of a Program whose ranks share the micro-batches of an update, that nothing of a gradient
 * is dropped or counted twice: `reduce` sends each byte of each gradient to the one rank that adds
 * it, and of all moments to all ranks, and `update` receives each byte of each gradient, once. All
 * ranks run this same Program, so what one sends in its n-th exchange the others receive in theirs.
 */
export const proveReduced = ({ persistentTensors, reduce, update, ...program }: Program): void => {
  if (reduce === undefined) {
    const lonely = [update, program.step, program.restore, program.save, program.evaluate].flatMap(listExchanges)
    return lonely.length === 0 ? undefined : fail({ kind: 'form', message: 'ranks exchange without a section reduce.' })
  }
  const [reducing, gathering] = [listExchanges(reduce), listExchanges(update)]
  const ranks = new Set([...reducing, ...gathering].map((one) => one.ranks))
  if (ranks.size > 1) fail({ kind: 'form', message: `exchanges are with ${[...ranks].join(' and with ')} ranks.` })
  const isScatter = ({ bytes, sendStride }: AllToAll): boolean => sendStride === bytes
  const sent = (exchanged: readonly AllToAll[]) => exchanged.map((one) => reachOf(one, one.send.base, one.sendStride))
  const scattered = sent(reducing.filter(isScatter))
  const told = sent(reducing.filter(({ sendStride }) => sendStride === 0))
  const gathered = gathering.map((one) => reachOf(one, one.receive.base, one.receiveStride))
  for (const { name, role, offset, bytes } of persistentTensors) {
    const check = (section: string, ranges: readonly Range[], verb: string): void => {
      const wrong = firstNotOnce([offset, offset + bytes], ranges)
      if (wrong === undefined) return
      const at = wrong - offset
      fail({
        kind: 'exchange',
        message: `${section}: byte ${at} of "${name}" is not ${verb} once.`,
        section,
        buffer: name,
        bytes: [at, at + 1]
      })
    }
    if (role === 'gradient') {
      check('reduce', scattered, 'sent')
      check('update', gathered, 'received')
    }
    if (role === 'moments') check('reduce', told, 'sent')
  }
}
