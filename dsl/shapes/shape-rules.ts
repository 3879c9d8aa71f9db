import * as E from 'fp-ts/Either'
import { validateOptions } from '../option-names'
import { opRecords, type Op, type OpArguments } from '../ops'
import type { ShapeRule } from './shape'

/**
 * Refuses options that the op does not know, and asks for those that it needs: an untyped program
 * may have misspelt them.
 */
const withOptionCheck =
  <P extends Op>(op: P): ShapeRule<OpArguments[P]> =>
  (args, inputs, start) => {
    const mistake = validateOptions(op, args)
    return mistake === undefined ? (opRecords[op].shape as ShapeRule<OpArguments[P]>)(args, inputs, start) : E.left(mistake)
  }

/** Run-time shape rule of each op; the types of ShapeRules say the same, in the same sentences. */
export const shapeRules = Object.fromEntries((Object.keys(opRecords) as Op[]).map((op) => [op, withOptionCheck(op)])) as unknown as {
  readonly [P in Op]: ShapeRule<OpArguments[P]>
}
