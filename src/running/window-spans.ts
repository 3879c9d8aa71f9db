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
 * takes what it makes as the whole image does; of a side that is no multiple of the network's
 * stride, in the first half as the image without what is over at its end, and in the second as
 * without as much at its beginning. So outputs are the same whatever `extent` is: that of these
 * images, or a multiple of the stride and larger than what lies before and after an output; all
 * else throws.
 */
export const windowSpans = (length: number, extent: number, field: ReceptiveField | undefined): readonly WindowSpan[] => {
  if (extent === length || field === undefined) return [{ start: 0, from: 0, to: length }]
  const { stride, before, after } = field
  const over = length % stride
  const seam = over === 0 ? length : Math.floor(length / 2)
  const spans: WindowSpan[] = []
  for (let from = 0; from < length;) {
    // Windows of one half begin at its first pixel, and so many strides later.
    const [first, end, most] = from < seam ? [0, length - over, seam] : [over, length, length]
    const wanted = Math.max(0, Math.floor((from - before - first) / stride))
    const start = first + stride * Math.min(wanted, Math.floor((end - extent - first) / stride))
    const to = Math.min(most, start + extent === end ? end : start + extent - after)
    if (to <= from) throw new Error(`windows of ${extent} pixels never cover ${length}: ${before} lie before their outputs, ${after} after`)
    spans.push({ start, from, to })
    from = to
  }
  return spans
}

/**
 * The extent of windows of which `parts` cover a side: a multiple of the network's stride, with
 * what lies before and after; undefined where they would be no smaller than their surroundings. One
 * or two may be all of the side, but for what is over. They cover sides of up to `longest` too.
 */
export const chooseWindowExtent = (
  length: number,
  parts: number,
  { stride, before, after }: ReceptiveField,
  longest = length
): number | undefined => {
  const most = Math.floor(length / stride) * stride
  const extent = Math.min(most, Math.ceil(length / parts / stride) * stride + before + after)
  const isAll = extent === longest || (extent === most && length === longest && parts <= 2)
  return isAll || extent > before + after ? extent : undefined
}
