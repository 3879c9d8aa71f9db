import type { Entries } from '../flat/entries'
import type { Invalid } from '../typing/tensor'
import type { PlanFileSegment } from './plan-file'

/** A segment as messages name it, by its half-open range of layers. */
export type ShowSegment<G extends PlanFileSegment> = `segment ${G['from']}..${G['to']}`

/** Name of the layer after which position To comes. */
export type NameBefore<To extends number, E extends Entries> = (readonly [unknown, ...E])[To] extends readonly [infer Name, ...unknown[]]
  ? Name
  : never

/** Names of the layers from position K up to To. */
export type NamesWithin<E extends Entries, F extends readonly unknown[], K, To, Names = never> = K extends To
  ? Names
  : NamesWithin<E, F, F[K & number], To, Names | E[K & number][0]>

/** Gives one sentence on why a segment has no layer of this name, if that is so. */
export type NotInSegment<G extends PlanFileSegment, Name extends string, E extends Entries, Field extends string> = string extends Name
  ? unknown
  : Name extends E[number][0]
    ? Invalid<`${ShowSegment<G>}: ${Field}: ${Name} is not in this segment`>
    : Invalid<`${ShowSegment<G>}: ${Field}: there is no layer ${Name}`>
