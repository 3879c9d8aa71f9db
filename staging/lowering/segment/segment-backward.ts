import type { Buffer } from '../ir/builder'
import type { WholeTensor } from '../ir/tile-tensor'
import { zeroBuffer } from '../scope/copies'
import type { NodeParameters, ParameterTensor } from '../scope/parameter-tensor'
import { trainableTensors } from '../scope/parameters'
import type { ModelScope } from '../scope/scope'
import type { Pass } from '../tile/bound-segment'
import type { SegmentCode } from './segment-code'

/** The backward of a segment: what all of its parts share. */
export interface SegmentBackward {
  readonly scope: ModelScope
  readonly code: SegmentCode
  /** How its tiles run forward where nothing was kept, and what was done where it was. */
  readonly pass: Pass
  /** True if the segment is the last, whose forward pass this is too. */
  readonly isLast: boolean
  readonly isTiled: boolean
  readonly positions: readonly number[]
  /** Where a parameter's gradient is summed. */
  readonly sumOf: (parameter: ParameterTensor) => Buffer
  /** Told when the gradients of these are complete. */
  readonly finish: (parameters: readonly ParameterTensor[]) => void
}

/** By position in the segment: parameters of the nodes that `wanted` picks. */
export const parametersWhere = (
  { scope, positions }: Pick<SegmentBackward, 'scope' | 'positions'>,
  wanted: (position: number) => boolean
): readonly (NodeParameters | undefined)[] => positions.map((position) => (wanted(position) ? scope.parameters[position] : undefined))

/**
 * The parameters whose gradients are complete once all tiles have added to them; those of
 * normalisations come from sums.
 */
export const listTileSummedParameters = (backward: SegmentBackward): readonly ParameterTensor[] =>
  parametersWhere(backward, (position) => backward.scope.graph.nodes[position]!.statistics === undefined).flatMap(trainableTensors)

/** A place for the sum of each parameter's gradient that has none across sections. */
export const createParameterSums = (
  { builder, parameters, parameterBytes }: ModelScope,
  positions: readonly number[]
): ReadonlyMap<ParameterTensor, Buffer> =>
  new Map(
    positions
      .flatMap((position) => trainableTensors(parameters[position]))
      .map((tensor) => [
        tensor,
        tensor.gradient ?? builder.buffer({ kind: 'gradient', parameter: tensor.name }, tensor.elements * parameterBytes)
      ])
  )

/**
 * Zeroes the sums of the gradients of parameters to which tiles add, but those that are kept across
 * sections.
 */
export const zeroParameterSums = (backward: SegmentBackward): void => {
  if (backward.isTiled)
    listTileSummedParameters(backward)
      .filter(({ gradient }) => gradient === undefined)
      .forEach((tensor) => zeroBuffer(backward.scope.builder, backward.sumOf(tensor)))
}

/**
 * The whole gradient of an input of the segment, 'stepIo' for the network's own; undefined where
 * none is wanted.
 */
export const findInputGradient = ({ scope, code }: SegmentBackward, tensor: number): WholeTensor | 'stepIo' | undefined => {
  if (!scope.requiresGrad[tensor]!) return undefined
  return tensor === 0 ? 'stepIo' : code.boundaries.get(tensor)?.gradient
}

/** Tells whether no segment's backward before this one contributes to the gradient of an input. */
export const isFirstToContribute = ({ scope, code }: SegmentBackward, tensor: number): boolean =>
  scope.graph.readers[tensor]!.every((reader) => reader < code.segment.to)
