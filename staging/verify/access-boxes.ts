import type { Access } from './events'
import { repeatBoxes, runBoxes, type Coordinates, type Cover } from './boxes'

/** Bytes of an access that are listed one run at a time where its repetitions make no boxes. */
const runsListed = 4096

type Repeat = Access['repeats'][number]

/**
 * A repetition as several, each along one digit: one that carries from a digit to the next, as that
 * of all planes of all images does, makes no box.
 */
const alongDigits = (coordinates: Coordinates, repeat: Repeat): readonly Repeat[] => {
  const { stride, count } = repeat
  const above = coordinates.strides.find((digit) => digit > stride)
  if (above === undefined || stride <= 0 || above % stride !== 0) return [repeat]
  const within = above / stride
  if (count <= within || count % within !== 0) return [repeat]
  return [...alongDigits(coordinates, { stride: above, count: count / within }), { stride, count: within }]
}

type Touched = Pick<Access, 'base' | 'repeats' | 'run'>

/** The same bytes, where repetitions leave no gap as one longer run, which makes few boxes. */
const withoutGaps = (touched: Touched): Touched => {
  const { base, repeats, run } = touched
  const place = repeats.findIndex(({ stride }) => stride > 0 && stride <= run)
  if (place === -1) return touched
  const { stride, count } = repeats[place]!
  return withoutGaps({ base, repeats: repeats.filter((_, other) => other !== place), run: stride * (count - 1) + run })
}

/** Returns the boxes that an access touches in the first iteration of the loops around it. */
export const accessBoxes = (coordinates: Coordinates, access: Touched): Cover => {
  const { base, repeats, run } = withoutGaps(access)
  let cover: Cover = { boxes: runBoxes(coordinates, base, base + run), exact: true }
  for (const { stride, count } of repeats.flatMap((repeat) => alongDigits(coordinates, repeat)).reverse()) {
    const wider = repeatBoxes(coordinates, cover.boxes, stride, count)
    cover = { boxes: wider.boxes, exact: cover.exact && wider.exact }
  }
  if (cover.exact || repeats.reduce((product, { count }) => product * count, 1) > runsListed) return cover
  const starts = repeats.reduce<readonly number[]>(
    (known, { stride, count }) => known.flatMap((start) => Array.from({ length: count }, (_, index) => start + index * stride)),
    [base]
  )
  return { boxes: starts.flatMap((start) => runBoxes(coordinates, start, start + run)), exact: true }
}
