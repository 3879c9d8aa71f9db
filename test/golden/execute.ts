import type { Model } from '../../dsl'
import { deviceModel, openSession, type DeviceName } from '../../native'
import { setNormaliser, weightOfTargets } from '../../src/running/normaliser'
import { createStepIo, type StepIo, type Numbers } from '../../native/session/step-io'
import {
  stage,
  type Plan,
  type Objective,
  type Optimizer,
  type PlanPlacement,
  type SwapSchedule,
  type Segment,
  type Staged,
  type StageRequest,
  type StrategyName
} from '../../staging'
import type { Precision } from '../../staging/kernels/precision'
import { must } from '../must'

/** A net, where and how it runs, and one batch of plain numbers. */
export interface Execution {
  readonly model: Model
  /** [B, C, H, W]; the model's own where absent. */
  readonly input?: readonly number[]
  readonly device: DeviceName
  /** Of the reference device float64 where absent, of the others float32. */
  readonly precision?: Precision
  readonly strategy?: StrategyName
  /** Decisions to take as they are, in place of the strategy's. */
  readonly segments?: readonly Segment[]
  /** With segments: positions in the order in which they run, as written where absent. */
  readonly order?: readonly number[]
  /** With segments: what waits on the host. */
  readonly swapSchedule?: SwapSchedule
  /** With segments, of ranks: gradients are added beside the backward pass. */
  readonly overlapReduction?: true | readonly number[]
  /** With segments, of ranks that share rows: these travel beside inner tiles. */
  readonly edgeTilesFirst?: true
  /** With segments: optimizer state waits on the host. */
  readonly offloadOptimizer?: true | readonly number[]
  /** With segments: weights wait on the host, but for so many bytes of them. */
  readonly offloadWeights?: number
  /** Bytes; unlimited where absent. */
  readonly budget?: number
  readonly hostBudget?: number
  readonly threads?: number
  readonly exactKernels?: true
  readonly placement?: PlanPlacement
  readonly seed?: number
  /** Every parameter and running statistic by name, plain. */
  readonly weights: ReadonlyMap<string, ArrayLike<number>>
  readonly batch: { readonly input: ArrayLike<number>; readonly target: ArrayLike<number> }
}

export type Tensors = ReadonlyMap<string, Numbers>

export interface Gradients {
  readonly loss: number
  /** grad.input, grad.<parameter>, and after.<running statistic>, plain. */
  readonly tensors: Tensors
  readonly staged: Staged
  readonly measuredPeakBytes: number
  readonly measuredHostPeakBytes: number
}

export interface Training {
  readonly losses: readonly number[]
  /** Every parameter, and the optimizer's state ('velocity.<parameter>', ...), after the steps. */
  readonly tensors: Tensors
  readonly staged: Staged
  readonly measuredPeakBytes: number
}

/** A plan of segments over the order in which the layers are written. */
export const asWritten = (segments: readonly Segment[], placement?: PlanPlacement): Plan => ({
  order: Array.from({ length: segments.at(-1)?.to ?? 0 }, (_, position) => position),
  segments,
  ...(placement && { placement })
})

/** What staging is asked for an execution. */
export const requestFor = (execution: Execution, objective: Objective): StageRequest => ({
  model: execution.model,
  device: must(deviceModel(execution.device, precisionOf(execution), execution.threads ?? 2)),
  strategy: execution.strategy ?? 'sft',
  objective,
  source: { kind: 'float' },
  ...(execution.segments && {
    given: {
      ...asWritten(execution.segments, execution.placement),
      ...(execution.order && { order: execution.order }),
      swapSchedule: execution.swapSchedule ?? [],
      ...(execution.overlapReduction && { overlapReduction: execution.overlapReduction }),
      ...(execution.edgeTilesFirst && { edgeTilesFirst: true }),
      ...(execution.offloadOptimizer && { offloadOptimizer: execution.offloadOptimizer }),
      ...(execution.offloadWeights !== undefined && { offloadWeights: execution.offloadWeights })
    }
  }),
  ...(execution.exactKernels && { exactKernels: true as const }),
  ...(execution.placement && { placement: execution.placement }),
  ...(execution.input === undefined ? {} : { input: execution.input }),
  ...(execution.budget === undefined ? {} : { budget: { bytes: execution.budget } }),
  ...(execution.hostBudget === undefined ? {} : { hostBudget: { bytes: execution.hostBudget } })
})

type Found = ReturnType<typeof stage>

/** By model, and by all else of the request: many runs differ in their weights alone. */
const stagedBefore = new WeakMap<Model, Map<string, Found>>()

/** Stages for an execution, once a process; a budget may not fit, so this is a value. */
export const stageFor = (execution: Execution, objective: Objective): Found => {
  const { model, weights: _, batch: _batch, seed: _seed, ...rest } = execution
  const ofModel = stagedBefore.get(model) ?? new Map<string, Found>()
  stagedBefore.set(model, ofModel)
  const key = JSON.stringify([rest, objective])
  const found = ofModel.get(key) ?? stage(requestFor(execution, objective))
  ofModel.set(key, found)
  return found
}

const precisionOf = ({ device, precision = device === 'reference' ? 'float64' : 'float32' }: Execution): Precision => precision

interface Stepper {
  /** One step from the batch; its io is overwritten by the next. */
  readonly step: (index: number, learningRate: number) => Promise<StepIo>
  readonly save: () => Promise<Tensors>
  readonly measuredPeakBytes: () => number
  readonly measuredHostPeakBytes: () => number
}

/** Weights and a batch, as an execution has them. */
type Values = Pick<Execution, 'weights' | 'batch'>

/** Opens a session, hands it over for each of the values, and closes it whatever happens. */
const withSession = async <A>(
  execution: Omit<Execution, keyof Values>,
  values: Iterable<Values>,
  staged: Staged,
  use: (stepper: Stepper, index: number) => Promise<A>
): Promise<readonly A[]> => {
  const { program } = staged
  const session = must(openSession({ device: execution.device, program, arenaBytes: execution.budget ?? program.peakBytes }))
  const run = async (section: 'step' | 'restore' | 'save', io: StepIo, step = 0, learningRate = 0): Promise<StepIo> => {
    must(await session.run(section, io.buffer, { learningRate, step, seed: execution.seed ?? 1 }, [])())
    return io
  }
  const [restored, batch] = [createStepIo(program.restore), createStepIo(program.step)]
  const hasEntry = (wanted: string): boolean => program.step.stepIo.some(({ name }) => name === wanted)
  const give = ({ input, target }: Execution['batch']): void => {
    batch.view('input').set(input)
    if (hasEntry('target')) batch.view('target').set(target)
    const loss = staged.graph.nodes.at(-1)!
    if (hasEntry('normaliser')) setNormaliser(loss, weightOfTargets(loss, target), batch)
  }
  const stepper: Stepper = {
    step: (index, learningRate) => run('step', batch, index, learningRate),
    save: async () => tensorsOf(await run('save', createStepIo(program.save)), program.save.stepIo),
    measuredPeakBytes: () => session.measuredPeakBytes(),
    measuredHostPeakBytes: () => session.measuredHostPeakBytes()
  }
  try {
    const results: A[] = []
    for (const { weights, batch: given } of values) {
      weights.forEach((tensor, name) => restored.view(name).set(tensor))
      await run('restore', restored)
      give(given)
      results.push(await use(stepper, results.length))
    }
    return results
  } finally {
    session.close()
  }
}

const tensorsOf = (io: StepIo, entries: readonly { readonly name: string }[]): Tensors =>
  new Map(entries.map(({ name }) => [name, io.view(name)]))

/**
 * Of one forward and backward run for each of the values, in one session: what `use` makes of loss
 * and gradients, which the next run overwrites.
 */
export const gradientsOfEach = async <A>(
  execution: Omit<Execution, keyof Values>,
  values: Iterable<Values>,
  use: (found: Gradients, index: number) => A
): Promise<readonly A[]> => {
  const staged = must(stageFor({ ...execution, weights: new Map(), batch: { input: [], target: [] } }, { kind: 'gradients' }))
  return withSession(execution, values, staged, async ({ step, save, measuredPeakBytes, measuredHostPeakBytes }, index) => {
    const io = await step(0, 0)
    const running = [...(await save())].filter(([name]) => /\.running_(mean|var)$/.test(name))
    const entries = staged.program.step.stepIo.filter(({ name }) => name.startsWith('grad.'))
    const found: Gradients = {
      loss: io.view('loss')[0]!,
      tensors: new Map([...tensorsOf(io, entries), ...running.map(([name, tensor]) => [`after.${name}`, tensor] as const)]),
      staged,
      measuredPeakBytes: measuredPeakBytes(),
      measuredHostPeakBytes: measuredHostPeakBytes()
    }
    return use(found, index)
  })
}

/** Loss and every gradient of one forward and backward run. */
export const gradients = async (execution: Execution): Promise<Gradients> =>
  (await gradientsOfEach(execution, [execution], (found) => found))[0]!

const evaluated = async (execution: Execution, what: 'scores' | 'classes'): Promise<Numbers> => {
  const staged = must(stageFor(execution, { kind: 'evaluate' }))
  return (await withSession(execution, [execution], staged, async ({ step }) => (await step(0, 0)).view(what)))[0]!
}

/** What the layer before the loss makes in a forward pass. */
export const outputs = (execution: Execution): Promise<Numbers> => evaluated(execution, 'scores')

/** The class of each pixel. */
export const classes = (execution: Execution): Promise<Numbers> => evaluated(execution, 'classes')

/** Some optimizer steps on the one batch. */
export const trainSteps = async (
  execution: Execution,
  { optimizer, learningRate, steps }: { readonly optimizer: Optimizer; readonly learningRate: number; readonly steps: number }
): Promise<Training> => {
  const staged = must(stageFor(execution, { kind: 'train', optimizer }))
  const [trained] = await withSession(execution, [execution], staged, async ({ step, save, measuredPeakBytes }) => {
    const losses: number[] = []
    for (let index = 0; index < steps; index += 1) losses.push((await step(index, learningRate)).view('loss')[0]!)
    return { losses, tensors: await save(), staged, measuredPeakBytes: measuredPeakBytes() }
  })
  return trained!
}
