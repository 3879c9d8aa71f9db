import type { Interval } from './graph/interval'
import { inOrder } from './graph/order'
import { imagesRead as imagesReadBy } from './graph/shared-tensor'
import type { Staged } from './stage'

/** The images of a micro-batch that a step reads: all, unless ranks share them. */
export const imagesRead = ({ graph, plan }: Pick<Staged, 'graph' | 'plan'>): Interval =>
  imagesReadBy(inOrder(graph, plan.order), plan.segments)
