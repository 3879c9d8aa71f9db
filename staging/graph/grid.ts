import { tileAxes, type TileAxis } from '../program/program'
import type { AxisAccess } from './axis-access'
import { axisIndex, reduces, type Graph, type Node } from './graph'
import { effectiveTileCount } from './interval'
import type { Grid, Span } from './span'
import { barriers } from './statistics'

/**
 * Extent of the dimension that a segment's tiles partition: of its last op's output, or, where that
 * sums the dimension away, of that op's input (the tiles' sums are added).
 */
export const ownedExtent = (last: Node, axis: TileAxis): number => (reduces(last, axis) ? last.input : last.output)[axisIndex[axis]]

/**
 * The tiles that become of a grid: at most as many as there are rows, and all but the last equal.
 */
export const effectiveGrid = ({ nodes }: Graph, { to }: Span, grid: Grid): Grid => {
  const made = (axis: TileAxis): number => effectiveTileCount(ownedExtent(nodes[to - 1]!, axis), grid[axis])
  return { B: made('B'), H: made('H'), W: made('W') }
}

const units = { B: 'images', H: 'rows', W: 'columns' } as const

/**
 * Returns one sentence on why a segment cannot have so many tiles, or undefined where all is right.
 */
export const validateGrid = ({ nodes }: Graph, { to }: Span, grid: Grid): string | undefined => {
  const last = nodes[to - 1]!
  const axis = tileAxes.find((one) => grid[one] > ownedExtent(last, one))
  if (axis === undefined) return undefined
  const [tensor, extent] = [reduces(last, axis) ? 'input' : 'output', ownedExtent(last, axis)]
  return `${grid[axis]} tiles along ${axis} are more than the ${extent} ${units[axis]} of the ${tensor} of ${last.name}; take at most ${extent}`
}

/** Tells whether an output's slice reads a slice of the input. */
const isSliced = (access: AxisAccess): boolean => access.kind !== 'whole' && !(access.kind === 'transposedWindow' && access.apart)

/**
 * Dimensions along which a segment can be fused-tiled (Xu 2022, Listing 3, FTdimsIntersect): those
 * that every op maps to a slice of its input, or sums away where nothing inside the segment reads
 * the sum; and along which no moments are taken inside.
 */
export const fusibleTileAxes = (graph: Graph, span: Span): readonly TileAxis[] => {
  const barred = barriers(graph, span)
  return tileAxes.filter(
    (axis) =>
      !barred.includes(axis) &&
      graph.nodes
        .slice(span.from, span.to)
        .every(({ access }, index) =>
          access[axis].kind === 'reduce'
            ? graph.readers[span.from + index + 1]!.every((reader) => reader >= span.to)
            : isSliced(access[axis])
        )
  )
}
