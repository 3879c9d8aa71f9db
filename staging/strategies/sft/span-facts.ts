import { requestedTiles } from '../../graph/directives'
import type { Grid, Span } from '../../graph/span'
import { memoizeBySpan } from '../memoize-by-span'
import { lazy } from '../../memoize'
import { endsOnHost } from '../../plans/host-tensors'
import { candidateGrids } from '../grids'
import type { Search } from '../strategy'
import type { Boundaries, OptionBytes } from './option-bytes'
import { listBlocks } from './rematerialized-option'

/** What decides how a span may run as one segment, whatever its variants. */
export interface SpanFacts {
  readonly span: Span
  readonly isLast: boolean
  /** The tiles that the model asks for. */
  readonly wanted: Grid | undefined
  /** Whether parts of it that are kept share what each would have for itself. */
  readonly sharesInside: boolean
  /** Whether it may be kept whole. */
  readonly keepable: boolean
  /** Whether tiles are bands of rows of what lies on the host, so that none of it need be whole. */
  readonly inRows: boolean
  /** From coarse to fine. */
  readonly grids: () => readonly Grid[]
  /** As `listBlocks`; none where blocks may not be rematerialized. */
  readonly blocks: () => readonly Span[]
}

/**
 * The facts of spans between positions; they are remembered. What is kept whole and spans several
 * positions is made of its parts by `joinSegments`: it may be kept only where ranks share rows, or
 * where it keeps less than its parts do.
 */
export const createSpanFacts = (
  search: Pick<Search, 'graph'>,
  positions: readonly number[],
  { onHost, isJoined }: Pick<Boundaries, 'onHost' | 'isJoined'>,
  { isFrozen }: Pick<OptionBytes, 'isFrozen'>
): ((span: Span) => SpanFacts) => {
  const { graph } = search
  const end = graph.nodes.length
  const tiled = requestedTiles(graph)
  const rematerializes = onHost === undefined && graph.shard === undefined && graph.objective.kind !== 'evaluate' && tiled.length === 0
  return memoizeBySpan(end, (span): SpanFacts => {
    const { from, to } = span
    const isLast = to === end
    const inside = positions.filter((position) => from < position && position < to)
    const sharesInside = onHost === undefined && inside.some(isJoined)
    const inRows = onHost !== undefined && endsOnHost(graph, span, onHost).length > 0
    return {
      ...{ span, isLast, sharesInside, inRows },
      wanted: tiled.find((other) => other.from === from && other.to === to)?.grid,
      keepable: graph.shard !== undefined || isLast || inside.length === 0 || sharesInside,
      grids: lazy(() => candidateGrids(graph, span, inRows)),
      blocks: lazy(() => (rematerializes && !isLast && !isFrozen({ from, to: from + 1 }) ? listBlocks(search, positions, span) : []))
    }
  })
}
