import type { DeviceModel } from '../../devices/device-model'
import { computingNanoseconds, networkNanoseconds } from '../../devices/simulate'
import type { UnplacedInstruction } from '../ir/builder'

/**
 * What sends a piece of a gradient and adds it; before a parameter's first the network engine waits
 * for what computes, whose places pieces may take.
 */
type PieceCode = readonly UnplacedInstruction[]

/** Code until a gradient is complete, or to the end of an exchange of rows or statistics. */
interface Stretch {
  readonly code: readonly UnplacedInstruction[]
  /** Of the gradient that is complete; none where it ends with an exchange. */
  readonly pieces: readonly PieceCode[]
}

/** The code of a step that ends by waiting for pieces of gradients. */
interface Cut {
  /** Until the first gradient is complete, and then on. */
  readonly stretches: readonly Stretch[]
  /** Waits for the pieces. */
  readonly rest: readonly UnplacedInstruction[]
}

const isPiece = (one: UnplacedInstruction | undefined): boolean =>
  one?.kind === 'allToAll' && one.receive.buffer.identity.kind === 'received-gradients'

const cut = (code: readonly UnplacedInstruction[]): Cut => {
  const end = code.findLastIndex((one) => one.kind === 'record' && one.engine === 'network')
  const stretches: { code: UnplacedInstruction[]; pieces: UnplacedInstruction[][] }[] = []
  let [own, hasPieces]: [UnplacedInstruction[], boolean] = [[], false]
  const close = (pieces: UnplacedInstruction[][]): void => {
    stretches.push({ code: own, pieces })
    own = []
    hasPieces ||= pieces.length > 0
  }
  for (let place = 0; place < end; place++) {
    const one = code[place]!
    if (one.kind === 'record' && isPiece(code[place + 2])) close([[one, code[++place]!, code[++place]!]])
    else if (isPiece(one)) stretches.at(-1)!.pieces.push([one])
    else if (one.kind === 'launch' && one.engine === 'network') stretches.at(-1)!.pieces.at(-1)!.push(one)
    else {
      own.push(one)
      // Its record stands behind an exchange.
      if (hasPieces && (one.kind === 'exchange' || one.kind === 'allToAll')) {
        own.push(code[++place]!)
        close([])
      }
    }
  }
  close([])
  return { stretches, rest: code.slice(end) }
}

/**
 * A step's code in which so many pieces of gradients begin to travel wherever a gradient is
 * complete or rows or statistics were exchanged, and all others at the end: those exchanges, for
 * which computing waits, then wait for few pieces.
 */
export const paceReduction = (code: readonly UnplacedInstruction[], counts: readonly number[]): readonly UnplacedInstruction[] => {
  if (!code.some(isPiece)) return code
  const { stretches, rest } = cut(code)
  const waiting: PieceCode[] = []
  const paced = stretches.flatMap(({ code: own, pieces }, index) => {
    waiting.push(...pieces)
    return [...own, ...waiting.splice(0, counts[index] ?? 0).flat()]
  })
  return [...paced, ...waiting.flat(), ...rest]
}

/**
 * How many pieces best begin to travel at each of these places: as many as arrive while computing
 * goes on to the next exchange, and one that arrives later where all that are left would take
 * longer than what is computed after that.
 */
export const countPacedPieces = (
  code: readonly UnplacedInstruction[],
  launchNanoseconds: (kernel: number) => number,
  device: DeviceModel
): readonly number[] => {
  if (!code.some(isPiece)) return []
  const { stretches } = cut(code)
  const travelling = (piece: PieceCode): number =>
    piece.reduce((sum, one) => {
      if (one.kind === 'allToAll') return sum + networkNanoseconds(device, one)
      return one.kind === 'launch' ? sum + launchNanoseconds(one.kernel) : sum
    }, 0)
  const times = stretches.map(({ code: own, pieces }) => ({
    computing: computingNanoseconds(own, launchNanoseconds, device),
    pieces: pieces.map(travelling),
    isExchange: pieces.length === 0
  }))
  /** Behind each stretch: what is computed until the next exchange, and after that. */
  const ahead: { readonly beside: number; readonly later: number }[] = [{ beside: 0, later: 0 }]
  for (const { computing, isExchange } of times.slice(1).reverse()) {
    const { beside, later } = ahead[0]!
    ahead.unshift(isExchange ? { beside: computing, later: beside + later } : { beside: computing + beside, later })
  }
  let left = times.flatMap(({ pieces }) => pieces).reduce((sum, each) => sum + each, 0)
  /** Nanoseconds of what travels already. */
  let underway = 0
  const waiting: number[] = []
  return times.map(({ computing, pieces, isExchange }, index) => {
    const { beside, later } = ahead[index]!
    waiting.push(...pieces)
    underway = isExchange ? 0 : Math.max(0, underway - computing)
    let count = 0
    while (count < waiting.length && underway < beside && (underway + waiting[count]! <= beside || left > later)) {
      underway += waiting[count]!
      left -= waiting[count++]!
    }
    waiting.splice(0, count)
    return count
  })
}
