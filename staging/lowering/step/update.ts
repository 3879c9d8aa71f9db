import type { StepIoEntry } from '../../program/program'
import type { Training } from '../../graph/objective'
import type { ParameterTensor } from '../scope/parameter-tensor'
import { arenaOperand, stepIoOperand, type Buffer, type Builder, type UnplacedOperand } from '../ir/builder'
import type { OptimizerUpdates } from './optimizer-updates'
import type { Reduction } from './pieces'
import { zeroBuffer } from '../scope/copies'
import { gatherPieces } from './reduce'
import { updateSlices } from './shard-optimizer'

const normBytes = 8

/** Entries of the section `update` where gradients are clipped: their norm before that. */
export const updateStepIo = ({ clipNorm }: Training): { readonly bytes: number; readonly entries: readonly StepIoEntry[] } =>
  clipNorm === undefined
    ? { bytes: 0, entries: [] }
    : { bytes: normBytes, entries: [{ name: 'gradientNorm', type: 'float64', shape: [1], offset: 0 }] }

/** Gathers the sums of all gradients, one after the other; returns what waits for each. */
const gatherAll = (builder: Builder, parameters: readonly ParameterTensor[], reduction: Reduction | undefined): readonly (() => void)[] =>
  reduction === undefined ? [] : parameters.map((parameter) => gatherPieces(builder, parameter, parameter.sum!, reduction))

/**
 * The norm of all gradients before they are clipped, which ranks gather first; leaves their sum of
 * squares.
 */
const emitNorm = (builder: Builder, parameters: readonly ParameterTensor[], reduction: Reduction | undefined): UnplacedOperand => {
  const sumSquares = arenaOperand(builder.buffer({ kind: 'gradient-norm' }, normBytes))
  builder.launch<'zero'>({ kind: 'zero', bytes: normBytes }, { destination: sumSquares })
  const gathered = gatherAll(builder, parameters, reduction)
  for (const [index, { elements, gradient }] of parameters.entries()) {
    gathered[index]?.()
    builder.launch<'sumSquares'>({ kind: 'sumSquares', count: elements }, { source: arenaOperand(gradient!), sum: sumSquares })
  }
  builder.launch<'squareRoot'>({ kind: 'squareRoot', count: 1 }, { source: sumSquares, destination: stepIoOperand(0) })
  return sumSquares
}

/**
 * Emits one update of the trained parameters from the gradients that the steps before it left in
 * the arena, which start at zero again; with a reduction they are gathered from all ranks first, or
 * each rank updates its slices of the parameters by its sums, and weights are gathered.
 */
export const emitUpdate = (
  builder: Builder,
  { clipNorm, optimizer }: Training,
  parameters: readonly ParameterTensor[],
  stateOf: (parameter: ParameterTensor) => readonly Buffer[],
  { update, finish }: Pick<OptimizerUpdates, 'update' | 'finish'>,
  reduction?: Reduction
): void => {
  const sumSquares = clipNorm === undefined ? undefined : emitNorm(builder, parameters, reduction)
  const clip = (gradient: Buffer, count: number): void => {
    if (sumSquares !== undefined)
      builder.launch<'clipGradient'>({ kind: 'clipGradient', count, maxNorm: clipNorm! }, { sumSquares, gradient: arenaOperand(gradient) })
  }
  if (reduction?.shardsOptimizer === true) {
    for (const { sum, updatedElements } of parameters) clip(sum!, updatedElements)
    updateSlices(builder, optimizer, parameters, stateOf, reduction)
    for (const { gradient, sum } of parameters) {
      if (clipNorm !== undefined) zeroBuffer(builder, gradient!)
      zeroBuffer(builder, sum!)
    }
    return
  }
  // One is updated while those after it travel.
  const gathered = clipNorm === undefined ? gatherAll(builder, parameters, reduction) : []
  for (const [index, parameter] of parameters.entries()) {
    const { elements, gradient, sum } = parameter
    gathered[index]?.()
    clip(gradient!, elements)
    update(parameter, gradient!)
    for (const used of sum === undefined ? [gradient!] : [gradient!, sum]) zeroBuffer(builder, used)
  }
  finish()
}
