import { tileCount } from '../graph/span'
import type { Segment } from '../plans/plan'
import type { Variant } from './strategy'

/** What a segment decides of a variant. */
export const decidedBy = (
  { onLoadAgain, normaliseOnLoad, normalisations: _, winogradInTiles, winograd, ...variant }: Variant,
  { recompute, grid }: Pick<Segment, 'recompute' | 'grid'>
): Pick<Segment, Exclude<keyof Variant, 'onLoadAgain' | 'normalisations' | 'winogradInTiles'>> => {
  const onLoad = (recompute ? onLoadAgain : normaliseOnLoad) ?? normaliseOnLoad ?? []
  const byWinograd = tileCount(grid) > 1 ? (winogradInTiles ?? winograd) : winograd
  return {
    ...(byWinograd !== undefined && byWinograd.length > 0 && { winograd: byWinograd }),
    ...variant,
    ...(onLoad.length > 0 && { normaliseOnLoad: onLoad })
  }
}
