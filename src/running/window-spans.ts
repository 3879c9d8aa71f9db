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
 * Windows of `extent` along a side of `length`, in turn, which together take each output once. Each
 * takes what it makes as the whole image does. A side that is no multiple of the network's stride
 * has a last one which ends where the image ends, and of which no more is taken than what others
 * cannot make; so outputs are the same whatever `extent` is. It is `length`, or a multiple of the
 * stride and larger than what lies before and after an output; all else throws.
 */
export const windowSpans = (length: number, extent: number, field: ReceptiveField | undefined): readonly WindowSpan[] => {
  if (extent === length || field === undefined) return [{ start: 0, from: 0, to: length }]
  const { stride, before, after } = field
  const lastAligned = Math.floor((length - extent) / stride) * stride
  const spans: WindowSpan[] = []
  for (let from = 0; from < length;) {
    const aligned = Math.min(Math.max(0, Math.floor((from - before) / stride) * stride), lastAligned)
    const start = from < lastAligned + extent - after ? aligned : length - extent
    const to = start + extent === length ? length : start + extent - after
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
