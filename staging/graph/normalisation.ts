import type { Graph, Node } from './graph'
import { tileAxes, type TileAxis } from '../program/program'
import type { Grid, Span } from '../plans/plan'

/** An op that normalises with moments; batchNorm's over the batch, the others' of each image by itself. */
export type Normalisation = Extract<Node, { readonly op: 'batchNorm' | 'groupNorm' | 'instanceNorm' }>

export const isNormalisation = (node: Node): node is Normalisation =>
  node.op === 'batchNorm' || node.op === 'groupNorm' || node.op === 'instanceNorm'

/** Whether its moments are those of its input; a frozen batchNorm's are its running statistics. */
export const gathersMoments = (node: Node): boolean => isNormalisation(node) && !(node.op === 'batchNorm' && node.args.frozen === true)

/** How channels share moments, and what is added to their variance. */
export const normalisationOf = (node: Normalisation) => {
  const channels = node.input[1]
  switch (node.op) {
    case 'batchNorm':
      return { groups: channels, perImage: 0, epsilon: node.args.eps ?? 1e-5 } as const
    case 'groupNorm':
      return { groups: node.args.groups, perImage: 1, epsilon: node.args.eps ?? 1e-5 } as const
    case 'instanceNorm':
      return { groups: channels, perImage: 1, epsilon: node.args.eps ?? 1e-5 } as const
  }
}

/** The dimensions over which its moments go. */
const barrierOf = (node: Normalisation): readonly TileAxis[] => (node.op === 'batchNorm' ? tileAxes : ['H', 'W'])

/** Whether a tile of a segment with this grid has all that the moments are taken of. */
export const isWithinTile = (node: Normalisation, grid: Grid): boolean => barrierOf(node).every((axis) => grid[axis] === 1)

/**
 * Dimensions along which a span cannot be tiled, because one of its ops normalises with the moments of a tensor that it makes itself
 * (DESIGN §3: statistics are a barrier between segments), or that it loads.
 */
export const barriers = ({ nodes }: Graph, { from, to }: Span): readonly TileAxis[] =>
  tileAxes.filter((axis) =>
    nodes
      .slice(from, to)
      .some(
        (node) =>
          isNormalisation(node) &&
          gathersMoments(node) &&
          barrierOf(node).includes(axis) &&
          (node.inputs[0]! > from || node.inputs[0] === 0)
      )
  )
