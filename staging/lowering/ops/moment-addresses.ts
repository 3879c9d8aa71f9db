import { tileIdentity } from '../ir/buffer-identity'
import type { Node, Statistics } from '../../graph/graph'
import { gathersMoments, type Normalisation } from '../../graph/statistics'
import { at, moved, type Buffer, type UnplacedOperand } from '../ir/builder'
import type { Region } from '../ir/tile-tensor'
import type { ModelScope } from '../scope/scope'

/** Of a group: count, mean and sum of squared differences from it, in double precision. */
export const momentBytes = 24

/** Of a channel's sums for the gradients of a normalisation: two in double precision. */
export const sumBytes = 16

/** Images that have statistics, and sums, of their own; 1 where all share them. */
export const imagesApart = ({ statistics, input }: Normalisation): number => (statistics.perImage === 1 ? input[0] : 1)

/** A place for the moments of every op that gathers them. */
export const createMoments = ({ graph, builder }: Pick<ModelScope, 'graph' | 'builder'>): ReadonlyMap<number, Buffer> =>
  new Map(
    graph.nodes.flatMap((node: Node, position) => {
      if (!gathersMoments(node)) return []
      const rows = imagesApart(node as Normalisation) * node.statistics!.groups
      return [[position, builder.buffer(tileIdentity('moments', node.name), rows * momentBytes, 'statistics')] as const]
    })
  )

/** Rows of statistics of a tile's images: all of them, unless images have their own. */
export const rowsOfTile = (
  base: UnplacedOperand,
  { perImage }: Statistics,
  { from, advance }: Region,
  bytesPerImage: number
): UnplacedOperand => (perImage === 1 ? moved(base, from[0] * bytesPerImage, [advance[0] * bytesPerImage, 0, 0]) : base)

/** Where a tile's moments lie. */
export const momentsAt = (
  { moments }: Pick<ModelScope, 'moments'>,
  { statistics }: Normalisation,
  position: number,
  region: Region
): UnplacedOperand => rowsOfTile(at(moments.get(position)!), statistics, region, statistics.groups * momentBytes)
