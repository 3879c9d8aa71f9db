import type { Graph } from '../../graph/graph'
import type { BufferKind } from '../../program/program-buffer'
import type { BufferIdentity } from './buffer-identity'

const kinds: Readonly<Record<BufferIdentity['kind'], BufferKind>> = {
  parameter: 'parameters',
  'cast-weights': 'parameters',
  'reordered-weights': 'parameters',
  'running-moments': 'parameters',
  state: 'optimizer state',
  'loaded-state': 'optimizer state',
  'loaded-weights': 'parameters',
  gradient: 'gradients of parameters',
  'tile-gradient': 'gradients of parameters',
  'micro-batch-gradient': 'gradients of parameters',
  output: 'activations',
  input: 'activations',
  indices: 'activations',
  operand: 'activations',
  moments: 'activations',
  maxima: 'activations',
  overlaps: 'activations',
  'reordered-operand': 'activations',
  'whole-rows': 'activations',
  'normalised-tile': 'activations',
  'owned-part': 'activations',
  image: 'activations',
  'output-gradient': 'gradients of activations',
  'input-gradient': 'gradients of activations',
  'reordered-gradient': 'gradients of activations',
  'broadcast-gradient': 'gradients of activations',
  'gradient-sum': 'gradients of activations',
  seed: 'gradients of activations',
  'gradient-rows': 'gradients of activations',
  sums: 'workspace',
  scratch: 'workspace',
  'refused-scratch': 'workspace',
  'gradient-norm': 'workspace',
  'received-gradients': 'workspace',
  'received-moments': 'workspace',
  'own-weights': 'workspace',
  'received-statistics': 'workspace',
  'rows-of-others': 'workspace',
  'sent-rows': 'workspace',
  'received-rows': 'workspace'
}

/** What a buffer holds, in the words of reports. */
export const bufferKind = ({ kind }: BufferIdentity): BufferKind => kinds[kind]

/** The layer whose tensor, parameter or gradient a buffer is; undefined where it is nobody's. */
export const bufferLayers = ({ nodes }: Graph): ((identity: BufferIdentity) => string | undefined) => {
  const owners = new Map(nodes.flatMap(({ name, parameters }) => parameters.map((parameter) => [parameter.name, name] as const)))
  return (identity) => ('node' in identity ? identity.node : 'parameter' in identity ? owners.get(identity.parameter) : undefined)
}
