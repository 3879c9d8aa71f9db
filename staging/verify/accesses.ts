import type { Offset } from '../program/address'
import { tileAxes, type Program } from '../program/program'
import type { Access, OpenLoop, Store } from './events'
import { fail, operandFault, rangeText, type InstructionPlace, type VerifierFault } from './fault'
import type { OperandRegion } from './operand-regions'
import { spaceNames } from './stores'

/** A section's Program, and the stores in which its accesses may lie. */
export interface SectionStores {
  readonly program: Program
  readonly stores: readonly Store[]
  /** The stores of the section's I/O buffer, from .. to. */
  readonly stepIo: readonly [number, number]
  readonly stepIoBytes: number
}

/** Tells whether a number is whole and above 0. */
export const isCount = (value: number): boolean => Number.isSafeInteger(value) && value > 0

/** Returns the bytes of the addresses of the arena, of which not all need have memory at once. */
export const arenaBytes = (program: Program): number => program.pages?.addressBytes ?? program.peakBytes

/** Returns how many bytes an address moves down and up over all iterations. */
export const movement = (strides: readonly number[], loops: readonly OpenLoop[]): readonly [number, number] =>
  loops.reduce<readonly [number, number]>(
    ([down, up], { axis, count }) => {
      const reach = strides[axis]! * (count - 1)
      return [down + Math.min(0, reach), up + Math.max(0, reach)]
    },
    [0, 0]
  )

/**
 * Returns the store of a buffer, or of the value of the I/O buffer that has all of `range`.
 */
const findStore = (
  { program, stores, stepIo }: SectionStores,
  space: Store['space'],
  buffer: number | undefined,
  range: readonly [number, number]
): number | undefined => {
  if (space !== 'stepIo') {
    const [first, buffers] = space === 'arena' ? [0, program.buffers] : [program.buffers.length, program.hostBuffers]
    return buffer === undefined || buffers[buffer] === undefined ? undefined : first + buffer
  }
  for (let entry = stepIo[0]; entry < stepIo[1]; entry++) {
    const { offset, bytes } = stores[entry]!
    if (range[0] >= offset && range[1] <= offset + bytes) return entry
  }
  return undefined
}

/**
 * Returns what an operand touches at this offset, in every iteration of the loops around it; fails
 * where that is not inside of what it names.
 */
export const locateAccess = (
  section: SectionStores,
  place: InstructionPlace,
  loops: readonly OpenLoop[],
  space: Store['space'],
  { base, strides, buffer }: Offset,
  { name, use, region }: OperandRegion
): Access => {
  const { program, stores } = section
  const open = tileAxes.map((_, axis) => (loops.some((loop) => loop.axis === axis) ? strides[axis]! : 0))
  const [down, up] = movement(open, loops)
  const known = space === 'stepIo' ? undefined : findStore(section, space, buffer, [0, 0])
  const holder = known === undefined ? undefined : stores[known]
  const rest = holder === undefined ? 0 : holder.offset + holder.bytes - base - up
  const { start = 0, repeats, run } = region.kind === 'bytes' ? region : { repeats: [], run: rest }
  const fault = (kind: 'form' | 'bounds', range: readonly [number, number], sentence: string): VerifierFault =>
    operandFault(kind, place, name, holder?.name ?? spaceNames[space], range, sentence)
  const sane = Number.isSafeInteger(base) && strides.every(Number.isSafeInteger)
  const shaped = repeats.every(({ count, stride }) => isCount(count) && Number.isSafeInteger(stride) && stride >= 0)
  if (!(sane && shaped && (region.kind === 'rest' || isCount(run))))
    fail(fault('form', [0, 0], 'has an address or extents that are not whole numbers'))
  const reach = repeats.reduce((sum, { count, stride }) => sum + (count - 1) * stride, run)
  const first = base + start
  const range = [first + down, first + up + reach] as const
  const store = findStore(section, space, buffer, range)
  if (space !== 'stepIo' && store === undefined)
    return fail(fault('form', range, `does not say which buffer of ${spaceNames[space]} it means`))
  const limit = space === 'arena' ? arenaBytes(program) : space === 'host' ? program.hostBytes : section.stepIoBytes
  if (range[0] < 0 || range[1] > limit)
    return fail(fault('bounds', range, `reaches ${rangeText(range)}, outside ${spaceNames[space]} of ${limit} bytes`))
  if (store === undefined) return fail(fault('bounds', range, `reaches ${rangeText(range)} of the I/O buffer, which are no one value's`))
  const { offset, bytes, name: holding } = stores[store]!
  if (run <= 0 || range[0] < offset || range[1] > offset + bytes) {
    const inside = [range[0] - offset, range[1] - offset] as const
    return fail(fault('bounds', inside, `reaches ${rangeText(inside)} of "${holding}", which has ${bytes}`))
  }
  return {
    store,
    operand: name,
    use: use === 'index' ? 'read' : use,
    base: first - offset,
    repeats,
    run,
    strides: [open[0]!, open[1]!, open[2]!],
    range: [range[0] - offset, range[1] - offset]
  }
}
