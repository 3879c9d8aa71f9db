import { bufferText } from '../ir/buffer-identity'
import { alignUp } from '../../placement/placement'
import type { Plan } from '../../plans/plan'
import type { ModelScope } from './scope'
import type { ParameterTensor } from './parameter-tensor'
import type { Buffer } from '../ir/builder'
import { stateNames, listParameters } from './parameters'
import { runningMoments } from './running-moments'

const zeroBetweenUpdates = ['gradient', 'sum', 'moments']

/** Tells whether what has a role is zero between updates, so that no state has it. */
export const isZeroBetweenUpdates = (role: string): boolean => zeroBetweenUpdates.includes(role)

/**
 * What of a parameter lives across sections: itself, a state of the optimizer or a gradient that is
 * kept.
 */
export interface UnplacedPersistentTensor {
  readonly name: string
  readonly role: string
  readonly parameter: ParameterTensor
  readonly buffer: Buffer
  /** Whether it lies in the host pool. */
  readonly onHost: boolean
}

/** What has fewer bytes stays on the device: events would cost more than it. */
const leastOffloadedBytes = 64 * 1024

/**
 * Parameters, then optimizer state, then gradients that are kept, and what ranks hand to each
 * other: all that outlives a section.
 */
export const createPersistentTensors = (
  scope: ModelScope,
  { offloadOptimizer, offloadWeights }: Pick<Plan, 'offloadOptimizer' | 'offloadWeights'> = {}
): readonly UnplacedPersistentTensor[] => {
  const { parameters, builder, parameterBytes, graph } = scope
  const tensors = parameters.flatMap((both, index) =>
    both === undefined
      ? []
      : listParameters(both).map((parameter, which) => ({ parameter, role: graph.nodes[index]!.parameters[which]!.role }))
  )
  const offloadsWeights = offloadWeights !== undefined && graph.objective.kind === 'train'
  const names = graph.objective.kind === 'train' ? stateNames(graph.objective.optimizer) : []
  const taken = new Set(tensors.map(({ parameter }) => parameter.name))
  /** No weight's, whose names end in what they are: a layer may be called velocity. */
  const freeName = (name: string): string => (taken.has(name) ? `${name}'` : name)
  return [
    ...tensors.map(({ parameter, role }) => {
      const { name, buffer } = parameter
      return { name, role, parameter, buffer, onHost: offloadsWeights && buffer.bytes >= leastOffloadedBytes }
    }),
    ...tensors.flatMap(({ parameter }) =>
      (parameter.learning === undefined ? [] : names).map((role) => {
        const name = freeName(`${role}.${parameter.name}`)
        const bytes = parameter.updatedElements * parameterBytes
        const buffer = builder.buffer({ kind: 'state', parameter: parameter.name, state: role }, bytes, 'persistent')
        return { name, role, parameter, buffer, onHost: offloadOptimizer !== undefined && bytes >= leastOffloadedBytes }
      })
    ),
    ...(['gradient', 'sum'] as const).flatMap((role) =>
      tensors.flatMap(({ parameter }) => {
        const buffer = parameter[role]
        return buffer === undefined ? [] : [{ name: bufferText(buffer.identity), role, parameter, buffer, onHost: false }]
      })
    ),
    ...runningMoments(scope)
      .filter(([, { role }]) => role === 'persistent')
      .map(([position, buffer]) => ({
        name: bufferText(buffer.identity),
        role: 'moments',
        parameter: parameters[position]!.mean!,
        buffer,
        onHost: false
      }))
  ]
}

/** Tells whether a persistent tensor is a state of the optimizer. */
export const isOptimizerState = ({ role, parameter, buffer }: UnplacedPersistentTensor): boolean =>
  buffer !== parameter.buffer && !isZeroBetweenUpdates(role)

/** Bytes of persistent tensors in the arena, each aligned. */
export const persistentBytes = (persistentTensors: readonly UnplacedPersistentTensor[]): number =>
  persistentTensors.reduce((sum, { buffer, onHost }) => sum + (onHost ? 0 : alignUp(buffer.bytes)), 0)

/** The optimizer's buffers of a parameter, in the order of `stateNames`. */
export const groupOptimizerStates = (
  persistentTensors: readonly UnplacedPersistentTensor[]
): ((parameter: ParameterTensor) => readonly Buffer[]) => {
  const states = new Map<ParameterTensor, Buffer[]>()
  for (const tensor of persistentTensors)
    if (isOptimizerState(tensor)) states.set(tensor.parameter, [...(states.get(tensor.parameter) ?? []), tensor.buffer])
  return (parameter) => states.get(parameter) ?? []
}
