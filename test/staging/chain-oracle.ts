import { backwardBytes, forwardBytes } from '../../staging/chain/memory'
import type { Chain, OffloadSet, Release } from '../../staging/chain'
import type { Draw } from './random-nets'

/** A random chain of whole numbers, whose link moves a byte a millisecond. */
export const randomChain = (draw: Draw, stages: number, mostBytes: number): Chain => ({
  name: 'random',
  stages: Array.from({ length: stages }, (_, i) => ({
    name: `${i}`,
    u_F: draw(0, 4),
    u_B: draw(0, 4),
    x: draw(1, mostBytes),
    y: draw(0, 2),
    ex_F: draw(0, 2),
    ex_B: draw(0, 2)
  })),
  output: { x: draw(0, mostBytes), y: draw(0, 2) },
  beta: 1000
})

/** Every set of `stages` activations. */
export const allSets = (stages: number): readonly OffloadSet[] =>
  Array.from({ length: 2 ** stages }, (_, bits) => Array.from({ length: stages }, (_, i) => ((bits >> i) & 1) === 1))

/**
 * What happened so far: `done` operations of 2 stages, the next one with `left` milliseconds to run
 * (0: not started), and of each x_i how many bytes went to the host plus how many came back.
 */
interface State {
  readonly done: number
  readonly left: number
  readonly moved: readonly number[]
}

interface Rules {
  readonly release: Release
  /** Exactly this set, in order; any transfers in any order where absent. */
  readonly ordered?: OffloadSet
  /** Whether nothing may go any more once something has come back. */
  readonly offloadsFirst?: boolean
}

/**
 * The shortest makespan by trying everything, millisecond by millisecond: whether the next
 * operation starts, and which byte the link moves. Knows the rules of section 3.1, and nothing of
 * how schedules are found. Infinity where there is none.
 */
export const exhaustiveMakespan = (chain: Chain, memory: number, { release, ordered, offloadsFirst = false }: Rules): number => {
  const { stages, output } = chain
  const count = stages.length
  const x = [...stages.map((stage) => stage.x), output.x]
  const y = [...stages.map((stage) => stage.y), output.y]
  const [ownF, ownB] = [forwardBytes(chain).own, backwardBytes(chain).own]
  const isForward = (operation: number): boolean => operation < count
  const stageOf = (operation: number): number => (isForward(operation) ? operation : 2 * count - 1 - operation)

  /** Bytes of x_i on the device between F_i and B_i. */
  const onDevice = (i: number, moved: number): number => {
    if (release === 'bytes') return moved <= x[i]! ? x[i]! - moved : moved - x[i]!
    return moved === x[i]! ? 0 : x[i]!
  }
  const used = ({ done, left, moved }: State): number => {
    const i = stageOf(done)
    const before = (end: number): number => moved.slice(0, end).reduce((sum, bytes, j) => sum + onDevice(j, bytes), 0)
    if (done === 2 * count) return 0
    if (left > 0) return before(i) + (isForward(done) ? ownF[i]! : ownB[i]!)
    // Between operations: x_i, which is the input of F_i, or x_0 ... x_(i+1), with the gradient,
    // before B_i.
    return isForward(done) ? before(i) + x[i]! : before(Math.min(i + 2, count)) + (i + 1 === count ? x[count]! : y[i + 1]!)
  }
  const mayStart = (state: State): boolean => {
    if (state.done === 2 * count || state.left > 0) return false
    const i = stageOf(state.done)
    const isWhole = (j: number): boolean => j === count || state.moved[j] === 0 || state.moved[j] === 2 * x[j]!
    return used({ ...state, left: 1 }) <= memory && (isForward(state.done) || (isWhole(i) && isWhole(i + 1)))
  }
  const started = (state: State): State => {
    const i = stageOf(state.done)
    const left = isForward(state.done) ? stages[i]!.u_F : stages[i]!.u_B
    return left === 0 ? { ...state, done: state.done + 1 } : { ...state, left }
  }
  /** Whether a byte of x_i may move now, as far as order and whole transfers go. */
  const mayMove = ({ done, left, moved }: State, i: number): boolean => {
    const [produced, read] = [done >= i, done + (left > 0 ? 1 : 0) >= 2 * count - i]
    if (moved[i]! >= 2 * x[i]! || !produced || read) return false
    const isPartial = (bytes: number, j: number): boolean => bytes % x[j]! !== 0
    if (release === 'whole' && moved.some((bytes, j) => j !== i && isPartial(bytes, j))) return false
    const offloading = moved[i]! < x[i]!
    if (ordered === undefined) return !(offloadsFirst && offloading && moved.some((bytes, j) => bytes > x[j]!))
    return ordered[i]! && moved.every((bytes, j) => !ordered[j] || (offloading ? j >= i || bytes >= x[j]! : j <= i || bytes === 2 * x[j]!))
  }
  const keyOf = ({ done, left, moved }: State): number => moved.reduce((key, bytes, i) => key * (2 * x[i]! + 1) + bytes, done * 8 + left)

  let now: State[] = [{ done: 0, left: 0, moved: stages.map(() => 0) }]
  const seen = new Set<number>()
  for (let time = 0; now.length > 0; time++) {
    const next: State[] = []
    const visit = (state: State, into: State[]): void => {
      const key = keyOf(state)
      if (seen.has(key)) return
      seen.add(key)
      into.push(state)
    }
    const settled = (state: State): boolean =>
      ordered === undefined || ordered.every((offloads, i) => !offloads || state.moved[i] === 2 * x[i]!)
    for (let place = 0; place < now.length; place++) {
      const state = now[place]!
      if (state.done === 2 * count && settled(state)) return time
      if (mayStart(state)) visit(started(state), now)
      const moves = stages.flatMap((_, i) => (mayMove(state, i) ? [state.moved.map((bytes, j) => (j === i ? bytes + 1 : bytes))] : []))
      const isMidway = release === 'whole' && state.moved.some((bytes, i) => bytes % x[i]! !== 0)
      for (const moved of isMidway ? moves : [state.moved, ...moves]) {
        const later = { ...state, moved }
        if (used(later) > memory) continue
        visit(state.left === 0 ? later : { ...later, done: state.done + (state.left === 1 ? 1 : 0), left: state.left - 1 }, next)
      }
    }
    now = next
  }
  return Infinity
}
