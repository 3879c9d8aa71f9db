import { openSession } from '../../native'
import { setNormaliser, weightOfTargets } from '../../src/running/normaliser'
import { createStepIo, type StepIo } from '../../native/session/step-io'
import type { Node, SectionName, Staged, Training } from '../../staging'
import { stageFor, type Execution, type Tensors } from '../golden/execute'
import { must } from '../must'

export interface Batch {
  readonly input: ArrayLike<number>
  readonly target: ArrayLike<number>
  readonly rowWeights?: ArrayLike<number>
}

/** Sections to run in turn; an update is run where the objective has one. */
export type Action =
  | { readonly section: 'step'; readonly batch: Batch }
  | { readonly section: 'update'; readonly learningRate: number }
  | { readonly section: 'evaluate'; readonly input: ArrayLike<number> }

export interface Outcome {
  /** Of each step. */
  readonly losses: readonly number[]
  /** Of each update that clips: the norm before. */
  readonly norms: readonly number[]
  /** Of each evaluation: the loss's input, or of pixels the best class. */
  readonly scores: readonly ArrayLike<number>[]
  /** Parameters and optimizer state in the end. */
  readonly tensors: Tensors
  readonly staged: Staged
  readonly measuredPeakBytes: number
}

/** What counts of all micro-batches until the next update. */
const normaliserOf = (loss: Node, actions: readonly Action[], index: number): number | undefined => {
  const isUpdate = ({ section }: Action): boolean => section === 'update'
  const [before, after] = [actions.slice(0, index).findLastIndex(isUpdate), actions.slice(index).findIndex(isUpdate)]
  const labels = actions
    .slice(before + 1, after === -1 ? undefined : index + after)
    .flatMap((action) => (action.section === 'step' ? Array.from(action.batch.target) : []))
  return weightOfTargets(loss, labels)
}

/**
 * Runs sections on a session with the execution's weights. Where a step updates by itself, it takes
 * the rate of the update after it.
 */
export const runSections = async (
  execution: Execution,
  objective: Training,
  actions: readonly Action[],
  timesKernels = false
): Promise<Outcome> => {
  const staged = must(stageFor(execution, objective))
  const { program, graph } = staged
  const loss = graph.nodes.at(-1)!
  const session = must(openSession({ device: execution.device, program, arenaBytes: execution.budget ?? program.peakBytes, timesKernels }))
  const run = async (section: SectionName, io: StepIo, step: number, learningRate = 0): Promise<StepIo> => {
    must(await session.run(section, io.buffer, { learningRate, step, seed: execution.seed ?? 1 }, [])())
    return io
  }
  const losses: number[] = []
  const norms: number[] = []
  const scores: ArrayLike<number>[] = []
  let [steps, updates] = [0, 0]
  try {
    const restored = createStepIo(program.restore)
    execution.weights.forEach((values, name) => restored.view(name).set(values))
    await run('restore', restored, 0)
    for (const [index, action] of actions.entries())
      if (action.section === 'step') {
        const io = createStepIo(program.step)
        io.view('input').set(action.batch.input)
        io.view('target').set(action.batch.target)
        if (action.batch.rowWeights !== undefined) io.view('rowWeights').set(action.batch.rowWeights)
        const next = actions[index + 1]
        setNormaliser(loss, normaliserOf(loss, actions, index), io)
        await run('step', io, steps++, program.update === undefined && next?.section === 'update' ? next.learningRate : 0)
        losses.push(io.view('loss')[0]!)
      } else if (action.section === 'update') {
        if (program.update === undefined) continue
        const io = await run('update', createStepIo(program.update), updates++, action.learningRate)
        if (objective.clipNorm !== undefined) norms.push(io.view('gradientNorm')[0]!)
      } else {
        const io = createStepIo(program.evaluate!)
        io.view('input').set(action.input)
        await run('evaluate', io, steps)
        scores.push(io.view(loss.op === 'pixelCrossEntropy' ? 'classes' : 'scores'))
      }
    const saved = await run('save', createStepIo(program.save), 0)
    const tensors = new Map(program.save.stepIo.map(({ name }) => [name, saved.view(name)]))
    return { losses, norms, scores, tensors, staged, measuredPeakBytes: session.measuredPeakBytes() }
  } finally {
    session.close()
  }
}

/** One update from some micro-batches. */
export const update = (learningRate: number, ...batches: readonly Batch[]): readonly Action[] => [
  ...batches.map((batch): Action => ({ section: 'step', batch })),
  { section: 'update', learningRate }
]
