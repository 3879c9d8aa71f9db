import { hasTarget, isNormalised, isTrainable, type Node } from '../../graph/graph'
import { elementCount, type Extents } from '../../graph/extents'
import { stepIoElementBytes, type StepIoEntry } from '../../program/program'
import { parameterType } from '../../kernels/precision'
import { alignUp } from '../../placement/placement'
import type { StepGraph } from '../../graph/step-graph'
import type { StepIoLayout } from './scope'
import type { DeviceModel } from '../../devices/device-model'

/** Bytes of a target that is a label. */
export const labelBytes = stepIoElementBytes('int32')

interface IoLayout {
  readonly bytes: number
  readonly entries: readonly StepIoEntry[]
  readonly offsets: StepIoLayout
}

/**
 * What a step's I/O buffer holds: the target and the loss; for gradients, them too, and a
 * float input with its own.
 */
export const layoutStepIo = (graph: StepGraph, device: DeviceModel): IoLayout => {
  const { objective, source } = graph
  const type = parameterType(device.precision)
  const loss = graph.nodes[graph.nodes.length - 1]!
  const [, classes] = loss.input
  const float = source.kind === 'float'
  return layOut([
    { name: 'target', ...describeTarget(loss, type) },
    ...(objective.kind === 'train' && objective.rowWeights ? [{ name: 'rowWeights', type, shape: [loss.input[0]] }] : []),
    ...(isNormalised(loss)
      ? [
          { name: 'normaliser', type: 'float64' as const, shape: [1] },
          ...('classWeights' in loss.args && loss.args.classWeights !== undefined ? [{ name: 'classWeights', type, shape: [classes] }] : [])
        ]
      : []),
    { name: 'loss', type: 'float64', shape: [2] },
    ...(float ? [{ name: 'input', type, shape: graph.input }] : []),
    ...(objective.kind === 'gradients'
      ? [
          ...(float ? [{ name: 'grad.input', type, shape: graph.input }] : []),
          ...graph.parameters.filter(isTrainable).map(({ name, shape }) => ({ name: `grad.${name}`, type, shape }))
        ]
      : [])
  ])
}

/** What a loss compares its input with. */
const describeTarget = (loss: Node, type: StepIoEntry['type']): Pick<StepIoEntry, 'type' | 'shape'> => {
  const [batch, , height, width] = loss.input
  return hasTarget(loss, 'labels')
    ? { type: 'int32', shape: [batch] }
    : hasTarget(loss, 'pixel-labels')
      ? { type: 'int32', shape: [batch, height, width] }
      : { type, shape: flat(loss.input) }
}

/**
 * Whether an evaluation is given a target and hands out its loss: where it validates, beside
 * training or by itself, of a loss that is divided by what comes with the step.
 */
export const exportsLoss = ({ nodes, objective }: StepGraph): boolean =>
  (objective.kind === 'train' || (objective.kind === 'evaluate' && objective.compares === true)) && isNormalised(nodes.at(-1)!)

/**
 * What an evaluation's holds: the scores, or the best class of each pixel and what their loss
 * takes, and a float input.
 */
export const layoutEvaluationIo = (graph: StepGraph, device: DeviceModel): IoLayout => {
  const type = parameterType(device.precision)
  const loss = graph.nodes[graph.nodes.length - 1]!
  const [batch, , height, width] = loss.input
  return layOut([
    hasTarget(loss, 'pixel-labels')
      ? { name: 'classes', type: 'uint8', shape: [batch, height, width] }
      : { name: 'scores', type, shape: flat(loss.input) },
    ...(exportsLoss(graph)
      ? [
          { name: 'target', ...describeTarget(loss, type) },
          { name: 'normaliser', type: 'float64' as const, shape: [1] },
          { name: 'loss', type: 'float64' as const, shape: [2] },
          ...(loss.overlaps ? [{ name: 'lossOfOverlap', type: 'float64' as const, shape: [2] }] : [])
        ]
      : []),
    ...(graph.source.kind === 'float' ? [{ name: 'input', type, shape: graph.input }] : [])
  ])
}

const layOut = (wanted: readonly Omit<StepIoEntry, 'offset'>[]): IoLayout => {
  const entries: StepIoEntry[] = []
  let bytes = 0
  for (const entry of wanted) {
    entries.push({ ...entry, offset: bytes })
    bytes += alignUp(entry.shape.reduce((product, extent) => product * extent, stepIoElementBytes(entry.type)))
  }
  const offsets = new Map(entries.map(({ name, offset }) => [name, offset]))
  const offsetOf = (name: string): number => offsets.get(name) ?? 0
  return {
    bytes,
    entries,
    offsets: {
      target: offsetOf('target'),
      rowWeights: offsets.get('rowWeights'),
      classWeights: offsetOf('classWeights'),
      normaliser: offsetOf('normaliser'),
      classes: offsetOf('classes'),
      scores: offsetOf('scores'),
      loss: offsetOf('loss'),
      lossOfOverlap: offsets.get('lossOfOverlap') ?? offsetOf('loss'),
      input: offsetOf('input'),
      inputGradient: offsetOf('grad.input'),
      gradient: (parameter) => offsetOf(`grad.${parameter}`)
    }
  }
}

/** A prediction's shape as it was declared: without the height and width of a flat tensor. */
const flat = (extents: Extents): readonly number[] =>
  extents[2] === 1 && extents[3] === 1 && elementCount(extents) === extents[0] * extents[1] ? [extents[0], extents[1]] : extents

/** Where the gradient of the network's input is handed out. */
export const exportsInput = ({ objective, source }: StepGraph): boolean => objective.kind === 'gradients' && source.kind === 'float'
