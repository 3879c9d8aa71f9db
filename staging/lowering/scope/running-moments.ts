import { updatesRunning } from '../../graph/statistics'
import type { Buffer } from '../ir/builder'
import type { ModelScope } from './scope'

/** The moments that running statistics take in, by the positions of their ops. */
export const runningMoments = ({ graph, moments }: Pick<ModelScope, 'graph' | 'moments'>): readonly (readonly [number, Buffer])[] =>
  graph.nodes.flatMap((node, position) => (updatesRunning(node) ? [[position, moments.get(position)!] as const] : []))
