import { isNormalisation, gathersMoments, normalisationOf, type Normalisation } from '../../graph/normalisation'
import type { ModelScope } from '../scope/scope'
import { at, moved, type Buffer, type UnplacedOperand } from '../ir/builder'
import type { Region } from '../ir/tile-tensor'

export const momentBytes = 24

/** Of a channel's sums for the gradients of a normalisation. */
export const sumBytes = 16

export const rowsOf = (node: Normalisation): number => {
  const { groups, perImage } = normalisationOf(node)
  return perImage === 1 ? node.input[0] * groups : groups
}

/** A place for the moments of every op that gathers them. */
export const createMoments = ({ graph, builder }: Pick<ModelScope, 'graph' | 'builder'>): ReadonlyMap<number, Buffer> =>
  new Map(
    graph.nodes.flatMap((node, position) =>
      isNormalisation(node) && gathersMoments(node)
        ? [[position, builder.buffer(`moments of ${node.name}`, rowsOf(node) * momentBytes, 'statistics')] as const]
        : []
    )
  )

/** Rows of statistics of a tile's images: all of them, unless images have their own. */
export const rowsOfTile = (
  base: UnplacedOperand,
  node: Normalisation,
  { from, advance }: Region,
  bytesPerImage: number
): UnplacedOperand =>
  normalisationOf(node).perImage === 1 ? moved(base, from[0] * bytesPerImage, [advance[0] * bytesPerImage, 0, 0]) : base

/** Where a tile's moments lie. */
export const momentsAt = (
  { moments }: Pick<ModelScope, 'moments'>,
  node: Normalisation,
  position: number,
  region: Region
): UnplacedOperand => rowsOfTile(at(moments.get(position)!), node, region, normalisationOf(node).groups * momentBytes)
