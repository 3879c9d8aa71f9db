import { weightElements } from '../layout'
import { segmentTimer } from '../lowering/estimate'
import { openContext, type Lowering } from '../lowering/lower'
import { openPool } from '../lowering/emitter'
import { transformablePositions } from '../lowering/winograd'
import { untiled } from '../tiling'
import type { Variants } from './variants'

/** A convolution that is faster by Winograd on the whole image, and the bytes of its transformed weights. */
interface Gain {
  readonly position: number
  readonly bytes: number
}

/** Between all and none: those whose transformed weights take less than these shares of the largest ones. */
const shares = [1 / 4]

/** Faster both where forward runs once and where it runs again for backward, the transformation of weights included. */
const isFaster = (timer: ReturnType<typeof segmentTimer>, nodes: number, position: number): boolean =>
  [position + 1, Math.min(position + 2, nodes)].every((to) => {
    const segment = { from: position, to, grid: untiled, recompute: to < nodes, reorder: 'once' } as const
    return timer({ ...segment, winograd: [position] }).nanoseconds() < timer(segment).nanoseconds()
  })

/** From all convolutions that gain by Winograd down to none: a layer is in a variant only if it is faster wherever it stands. */
export const winogradVariants = (lowering: Lowering): Variants => {
  const { parameters, elementBytes } = openContext(lowering, openPool())
  const timer = segmentTimer(lowering)
  const gains = transformablePositions({ parameters })
    .filter((position) => isFaster(timer, parameters.length, position))
    .map((position): Gain => {
      const { shape, groups } = parameters[position]!.weight
      return {
        position,
        bytes: elementBytes * weightElements('winogradForward', shape as readonly [number, number, number, number], groups)
      }
    })
  return ({ from, to }) => {
    const inside = gains.filter(({ position }) => from <= position && position < to)
    if (inside.length === 0) return [{}]
    const largest = Math.max(...inside.map(({ bytes }) => bytes))
    const lists = [inside, ...shares.map((share) => inside.filter(({ bytes }) => bytes < share * largest))]
    const different = lists.filter((list, index) => list.length > 0 && list.length !== lists[index - 1]?.length)
    return [...different.map((list) => ({ winograd: list.map(({ position }) => position) })), {}]
  }
}
