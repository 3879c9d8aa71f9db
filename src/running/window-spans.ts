import type { ReceptiveField } from '../../staging'

/** One window along a side, and the part of it whose outputs are taken: of the image, in pixels. */
export interface WindowSpan {
  readonly start: number
  readonly from: number
  readonly to: number
}

/** Fields of both sides; absent where a network reads the whole image. */
export interface ReceptiveFields {
  readonly H: ReceptiveField
  readonly W: ReceptiveField
}

/**
 * Where along a side that is no multiple of the stride windows begin to lie so that the last one
 * ends where the image does: in its middle, as far as what lies around outputs allows.
 */
const seamOf = (length: number, { stride, before, after }: ReceptiveField): number => {
  const beyond = length % stride
  return beyond === 0 ? length : Math.min(Math.max(Math.floor(length / 2), beyond + before), length - beyond - after)
}

/**
 * Windows of `extent` along a side of `length`, in turn, which together take each output once. Each
 * takes what it makes as the whole image does; of a side that is no multiple of the network's
 * stride, in the first half as the image without its end, and in the second as without its
 * beginning. So outputs are the same whatever `extent` is: `length`, or a multiple of the stride
 * and larger than what lies before and after an output; all else throws.
 */
export const windowSpans = (length: number, extent: number, field: ReceptiveField | undefined): readonly WindowSpan[] => {
  if (extent === length || field === undefined) return [{ start: 0, from: 0, to: length }]
  const { stride, before, after } = field
  const seam = seamOf(length, field)
  const spans: WindowSpan[] = []
  for (let from = 0; from < length;) {
    const isMoved = from >= seam
    const offset = isMoved ? length % stride : 0
    const startUpTo = (most: number): number => Math.floor((most - offset) / stride) * stride + offset
    const start = Math.min(Math.max(offset, startUpTo(from - before)), startUpTo(length - extent))
    const end = start + extent === length ? length : start + extent - after
    const to = isMoved ? end : Math.min(seam, end)
    if (to <= from) throw new Error(`windows of ${extent} pixels never cover ${length}: ${before} lie before their outputs, ${after} after`)
    spans.push({ start, from, to })
    from = to
  }
  return spans
}

/**
 * The extent of windows of which `parts` cover a side: a multiple of the network's stride, with
 * what lies before and after; undefined where they would be no smaller than their surroundings.
 * They cover sides of up to `longest` too.
 */
export const windowExtent = (
  length: number,
  parts: number,
  { stride, before, after }: ReceptiveField,
  longest = length
): number | undefined => {
  const most = Math.floor(length / stride) * stride
  const extent = Math.min(most, Math.ceil(length / parts / stride) * stride + before + after)
  return extent === longest || extent > before + after ? extent : undefined
}
