import type { Grid, Span } from './span'
import { tileAxes, type TileAxis } from '../program/program'
import type { Graph, Node, Statistics } from './graph'

/** An op that normalises its input. */
export type NormalisationNode = Node & { readonly statistics: Statistics }

/**
 * Tells whether an op normalises by statistics of its input, which are complete only when all of
 * that is made.
 */
export const accumulatesMoments = ({ statistics }: Pick<Node, 'statistics'>): boolean => statistics?.fromInput === true

/** Tells whether an op has running statistics that take in its moments. */
export const updatesRunning = (node: Pick<Node, 'statistics'>): boolean =>
  accumulatesMoments(node) && node.statistics?.momentum !== undefined

/**
 * Tells whether an op needs moments, or sums, that are complete only when all of its input is made.
 */
export const accumulatesStatistics = (node: Pick<Node, 'statistics' | 'overlaps'>): boolean => node.overlaps || accumulatesMoments(node)

/** The dimensions over which statistics go. */
const reducedAxes = ({ perImage }: Statistics): readonly TileAxis[] => (perImage === 1 ? ['H', 'W'] : tileAxes)

/** Tells whether a tile of a segment with this grid has all that the statistics are taken of. */
export const isWithinTile = (statistics: Statistics, grid: Grid): boolean => reducedAxes(statistics).every((axis) => grid[axis] === 1)

/**
 * Dimensions along which a span cannot be tiled, because one of its ops accumulates statistics of a
 * tensor that the span makes itself, or that it loads: statistics are a barrier between segments.
 */
export const barriers = ({ nodes }: Graph, { from, to }: Span): readonly TileAxis[] =>
  tileAxes.filter((axis) =>
    nodes
      .slice(from, to)
      .some(
        ({ statistics, overlaps, inputs }) =>
          ((overlaps && axis !== 'B') || (statistics?.fromInput === true && reducedAxes(statistics).includes(axis))) &&
          (inputs[0]! > from || inputs[0] === 0)
      )
  )
