import type { StepIoEntry } from '../../program/program'
import type { Training } from '../../graph/objective'
import type { ParameterTensor } from '../scope/parameter-tensor'
import { arenaOperand, stepIoOperand, type Buffer, type Builder } from '../ir/builder'
import { updateParameter } from '../scope/parameters'
import { gatherGradient, type Reduction } from './reduce'

const normBytes = 8

/** Entries of the section `update` where gradients are clipped: their norm before that. */
export const updateStepIo = ({ clipNorm }: Training): { readonly bytes: number; readonly entries: readonly StepIoEntry[] } =>
  clipNorm === undefined
    ? { bytes: 0, entries: [] }
    : { bytes: normBytes, entries: [{ name: 'gradientNorm', type: 'float64', shape: [1], offset: 0 }] }

/**
 * Emits one update of the trained parameters from the gradients that the steps before it left in
 * the arena, which start at zero again; with a reduction they are gathered from all ranks first,
 * each while the one before it is used.
 */
export const emitUpdate = (
  builder: Builder,
  { clipNorm, optimizer }: Training,
  parameters: readonly ParameterTensor[],
  stateOf: (parameter: ParameterTensor) => readonly Buffer[],
  reduction?: Reduction
): void => {
  const gather = (parameter: ParameterTensor) => (reduction === undefined ? () => undefined : gatherGradient(builder, parameter, reduction))
  const sumSquares = arenaOperand(builder.buffer({ kind: 'gradient-norm' }, normBytes))
  if (clipNorm !== undefined) {
    builder.launch<'zero'>({ kind: 'zero', bytes: normBytes }, { destination: sumSquares })
    for (const parameter of parameters) {
      gather(parameter)()
      const { elements, gradient } = parameter
      builder.launch<'sumSquares'>({ kind: 'sumSquares', count: elements }, { source: arenaOperand(gradient!), sum: sumSquares })
    }
    builder.launch<'squareRoot'>({ kind: 'squareRoot', count: 1 }, { source: sumSquares, destination: stepIoOperand(0) })
  }
  for (const parameter of parameters) {
    const { elements, gradient } = parameter
    if (clipNorm === undefined) gather(parameter)()
    else
      builder.launch<'clipGradient'>(
        { kind: 'clipGradient', count: elements, maxNorm: clipNorm },
        { sumSquares, gradient: arenaOperand(gradient!) }
      )
    updateParameter(builder, optimizer, parameter, gradient!, stateOf(parameter))
    builder.launch<'zero'>({ kind: 'zero', bytes: gradient!.bytes }, { destination: arenaOperand(gradient!) })
  }
}
