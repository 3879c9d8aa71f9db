import type { Graph } from '../../graph/graph'
import { memoizePerObject } from '../../memoize'
import { getNodeLowering } from '../../ops'
import type { ModelScope } from '../scope/scope'

/** What of a scope tells which convolutions may normalise what they read. */
type OnLoadScope = Pick<ModelScope, 'graph' | 'parameters' | 'requiresGrad' | 'layouts'>

/** The only reader of a tensor. */
const isOnlyReader = ({ readers }: Pick<Graph, 'readers'>, tensor: number, position: number): boolean =>
  readers[tensor]!.length === 1 && readers[tensor]![0] === position

/** The normalisation that makes what an op reads, perhaps by a rectifier that it applies. */
const findNormalisation = ({ graph, layouts }: OnLoadScope, position: number): number | undefined => {
  const { nodes } = graph
  const makerOf = (reader: number): number | undefined => {
    const [tensor] = nodes[reader]!.inputs
    return tensor! > 0 && isOnlyReader(graph, tensor!, reader) ? tensor! - 1 : undefined
  }
  const before = makerOf(position)
  if (before === undefined) return undefined
  const found = getNodeLowering(nodes[before]!).slope === undefined ? before : makerOf(before)
  if (found === undefined || nodes[found]!.statistics === undefined) return undefined
  return layouts[nodes[found]!.inputs[0]!] === layouts[position] ? found : undefined
}

/**
 * The convolutions that may normalise what they read, each with the position of the normalisation.
 * Backward of either then reads the same tensor, which is kept for the normalisation in any case.
 */
export const onLoadNormalisations = memoizePerObject(
  (_: ModelScope['parameters'], __: OnLoadScope) => '',
  (_, scope): ReadonlyMap<number, number> =>
    new Map(
      scope.parameters.flatMap((both, position) => {
        if (both?.weight?.normalisable !== true) return []
        const normalisation = findNormalisation(scope, position)
        const learns = both.weight.learning !== undefined || both.bias?.learning !== undefined
        return normalisation === undefined || (learns && !scope.requiresGrad[normalisation + 1]!)
          ? []
          : [[position, normalisation] as const]
      })
    )
)

/** The pairs of those of some convolutions that a span has both of. */
export const normalisedOnLoad = (
  scope: OnLoadScope,
  { from, to }: { readonly from: number; readonly to: number },
  positions: readonly number[]
): ReadonlyMap<number, number> => {
  const possible = onLoadNormalisations(scope.parameters, scope)
  return new Map(
    positions.flatMap((position) => {
      const normalisation = possible.get(position)
      return normalisation === undefined || normalisation < from || position >= to ? [] : [[position, normalisation] as const]
    })
  )
}
