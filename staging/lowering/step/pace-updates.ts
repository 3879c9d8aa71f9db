import type { DeviceModel } from '../../devices/device-model'
import { computingNanoseconds, nanoseconds } from '../../devices/simulate'
import type { Kernel } from '../../kernels/kernels'
import type { UnplacedInstruction, UnplacedOperand } from '../ir/builder'
import { updatesAhead } from './optimizer-updates'

/** A piece of a parameter whose state is on the host. */
interface Piece {
  /** Nanoseconds in which its state comes, it is updated, and its state leaves. */
  readonly coming: number
  readonly updating: number
  readonly leaving: number
  /** Of its gradient. */
  readonly bytes: number
}

/** A gradient that is complete. */
interface Completed {
  /** Nanoseconds of computing since the one before it, without updates. */
  readonly computing: number
  readonly pieces: readonly Piece[]
}

const isUpdate = ({ kind }: Kernel): boolean => kind === 'sgd' || kind === 'adam'

/** The parameter whose state is there while it is updated, and its bytes. */
const loadedState = (operand: UnplacedOperand): { readonly parameter: string; readonly bytes: number } | undefined => {
  if (operand.space !== 'arena') return undefined
  const { identity, bytes } = operand.buffer
  return identity.kind === 'loaded-state' ? { parameter: identity.parameter, bytes } : undefined
}

const listCompleted = (code: readonly UnplacedInstruction[], kernels: readonly Kernel[], device: DeviceModel): readonly Completed[] => {
  const launchNanoseconds = (kernel: number): number => nanoseconds(device, kernels[kernel]!)
  const { toDevice, toHost } = device.linkBytesPerSecond
  const completed: { computing: number; pieces: Piece[] }[] = []
  let [own, last]: [UnplacedInstruction[], string | undefined] = [[], undefined]
  for (const one of code) {
    if (one.kind === 'copy' && loadedState(one.device) !== undefined) continue
    if (one.kind !== 'launch' || !isUpdate(kernels[one.kernel]!)) {
      own.push(one)
      continue
    }
    const states = one.operands.flatMap((operand) => loadedState(operand) ?? [])
    const [state] = states
    if (state === undefined) own.push(one)
    const parameter = state?.parameter
    if (parameter === undefined || parameter !== last) {
      completed.push({ computing: computingNanoseconds(own, launchNanoseconds, device), pieces: [] })
      own = []
      last = parameter
    }
    if (state === undefined) continue
    const moved = states.reduce((sum, { bytes }) => sum + bytes, 0)
    completed.at(-1)!.pieces.push({
      coming: (1e9 * moved) / toDevice,
      updating: launchNanoseconds(one.kernel),
      leaving: (1e9 * moved) / toHost,
      bytes: state.bytes
    })
  }
  return completed
}

/**
 * How many pieces are best updated wherever a gradient is complete, of code that updates each at
 * once: those whose state has come, for which computing need not wait, and those that must be since
 * gradients that wait would take more bytes than they may.
 */
export const countPacedUpdates = (
  code: readonly UnplacedInstruction[],
  kernels: readonly Kernel[],
  device: DeviceModel,
  mostWaitingBytes: number
): readonly number[] => {
  const completed = listCompleted(code, kernels, device)
  const all = completed.flatMap(({ pieces }) => pieces)
  const ahead = updatesAhead(all.length, true)
  const [begun, come, left]: [number[], number[], number[]] = [[], [], []]
  let [now, waitingBytes, known, next] = [0, 0, 0, 0]
  /** When the state of a piece has come; the first gradient is complete at 0. */
  const comes = (piece: number): number => {
    for (let each = come.length; each <= piece; each++) come.push(Math.max(come.at(-1) ?? 0, begun[each - ahead] ?? 0) + all[each]!.coming)
    return come[piece]!
  }
  return completed.map(({ computing, pieces }, place) => {
    now += place === 0 ? 0 : computing
    known += pieces.length
    waitingBytes += pieces.reduce((sum, { bytes }) => sum + bytes, 0)
    let count = 0
    for (; next < known; next++, count++) {
      const { updating, leaving, bytes } = all[next]!
      const ready = Math.max(comes(next), left[next - 1 - ahead] ?? 0)
      if (ready > now && waitingBytes <= mostWaitingBytes) break
      begun.push(Math.max(now, ready))
      now = Math.max(now, ready) + updating
      left.push(Math.max(left.at(-1) ?? 0, now) + leaving)
      waitingBytes -= bytes
    }
    return count
  })
}
