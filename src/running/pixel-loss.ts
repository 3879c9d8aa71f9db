import { hasTarget, ignoredLabelOf, labelsOf } from '../../staging'
import type { Planned } from '../plans/plan-network'

/** A loss over pixels, with labels [B, H, W]. */
export interface PixelLoss {
  readonly classes: number
  /** The label of pixels that do not count. */
  readonly ignored: number | undefined
}

/** Finds the loss over pixels that a network ends in; undefined where it ends in another one. */
export const findPixelLoss = ({ staged }: Pick<Planned, 'staged'>): PixelLoss | undefined => {
  const loss = staged.graph.nodes.at(-1)
  if (loss === undefined || !hasTarget(loss, 'pixel-labels')) return undefined
  return { classes: labelsOf(loss), ignored: ignoredLabelOf(loss) }
}
