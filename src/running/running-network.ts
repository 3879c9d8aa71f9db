import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import {
  type DeviceName,
  type DiskBuffer,
  type Image,
  type Network,
  type SectionName,
  type Session,
  type StepParameters,
  availableMemory,
  openSession,
  type MemoryStepIo,
  type StepIo,
  copyTensors,
  createStepIo
} from '../../native'
import { type Section, listExchanges } from '../../staging'
import type { Parameter } from '../../staging/graph/graph'
import { withResource } from '../tasks/with-resource'
import { runLeavingToFile } from './leave-to-file'
import { type NextImages, runPreparing } from './prepare-next'
import { withReadAhead } from './read-ahead'
import { noUpdate } from './step-parameters'
import { type Failure, type Outcome, deviceFailure, inputFailure, interrupted } from '../failure'
import { drawParameters } from '../weights/initialise'
import type { RunRecorder } from './run-recorder'
import type { Planned } from '../plans/plan-network'
import { type StartingWeights, type WeightSource, readWeights } from '../weights/weights'

/**
 * A network on its device, ready to run: a session of the native interpreter with the I/O buffers
 * of its sections.
 */
export interface RunningNetwork {
  readonly parameters: readonly Parameter[]
  /** What it starts from, where a weights file was read. */
  readonly startingWeights: StartingWeights | undefined
  /** The I/O buffer of the step section: fill in `target`, run a step, read `loss`. */
  readonly io: StepIo
  /** Whether ranks exchange within a step: none leaves it without ending the others. */
  readonly exchangesInStep: boolean
  /**
   * Runs one step; milliseconds that it took. A GPU's driver reads the images of the `next` one
   * meanwhile, where they are few enough to be held twice.
   */
  readonly step: (parameters: StepParameters, images: readonly Image[], next?: NextImages) => Outcome<number>
  /**
   * After a step, where ranks share the micro-batches: adds the gradients of all; nothing where
   * there is but one process.
   */
  readonly reduce: (parameters: StepParameters) => Outcome<number>
  /** The I/O buffer of the update section, where the Program has one. */
  readonly updateIo: StepIo | undefined
  /**
   * Updates the weights from gradients that steps have added up; nothing where a step does that
   * itself.
   */
  readonly update: (parameters: StepParameters) => Outcome<number>
  /** Forward alone; the scores are left in the given I/O buffer of the evaluate section. */
  readonly evaluate: (io: StepIo, images: readonly Image[]) => Outcome<number>
  /**
   * Weights and optimizer state, copied out into the given I/O buffer of the save section: of a
   * device that could not be had again after `suspendWhile`, as they were before it.
   */
  readonly save: (io: StepIo) => Outcome<void>
  /** Tells whether `save` answers though the device is lost. */
  readonly isSaved: () => boolean
  readonly interrupt: () => void
  readonly measuredPeakBytes: () => number
  readonly measuredHostPeakBytes: () => number
  /** Tiles of one colour so far that followed such a tile, and so were not computed again. */
  readonly repeatedTiles: () => number
  /**
   * Returns milliseconds of all launches so far, by kernel of the Program, where they are timed.
   */
  readonly kernelMilliseconds: () => readonly number[]
  /**
   * Saves weights and optimizer state on the host, gives the device's memory back while `use` runs,
   * and restores them to the bit; `use` reads the weights by their names.
   */
  readonly suspendWhile: <A>(use: (weights: Pick<StepIo, 'view'>) => Outcome<A>) => Outcome<A>
  readonly close: () => void
}

/**
 * Fills the restore I/O buffer: weights from a file or drawn from the seed, and optimizer state
 * zero; or all as it was saved. Answers with what came from a weights file, where one was read.
 */
const fillWeights = ({ planned, weights, state, seed }: NetworkOptions, io: StepIo): Outcome<StartingWeights | undefined> => {
  const { graph } = planned.staged
  if (state !== undefined) return TE.map(() => undefined)(state(io))
  if (weights !== undefined) return readWeights(weights, graph, seed, io)
  return TE.fromIO(() => void drawParameters(seed, graph.parameters, io, () => true))
}

const runSection =
  (session: Session) =>
  (section: SectionName, { buffer }: StepIo, parameters: StepParameters, images: readonly Image[]): Outcome<number> =>
    TE.mapLeft(deviceFailure)(session.run(section, buffer, parameters, images))

/** A plan, the device that it runs on, and where weights and optimizer state come from. */
export interface NetworkOptions {
  readonly planned: Planned
  readonly device: DeviceName
  /** A weights file; drawn from the seed where absent. */
  readonly weights?: WeightSource | undefined
  /** Instead of weights: fills the restore I/O buffer with all that an earlier training left. */
  readonly state?: ((io: StepIo) => Outcome<void>) | undefined
  readonly seed: number
  /** Where what steps take and hand out lies; in memory where absent. */
  readonly stepBuffer?: DiskBuffer | undefined
  /** True if the time of each launch is measured. */
  readonly timesKernels?: boolean
  /** Fills the weights, and gives all ranks those of the first. */
  readonly share?: (<A>(fill: Outcome<A>, io: MemoryStepIo) => Outcome<A>) | undefined
  /** The ranks that share the micro-batches of an update; absent where there is but one process. */
  readonly network?: Network | undefined
  /** Keeps when the launches of steps and updates ran; absent where that is not noted. */
  readonly recorder?: RunRecorder | undefined
}

/** A buffer for all weights and optimizer state of a model. */
const allocateCopy = (model: string, section: Section): E.Either<Failure, MemoryStepIo> =>
  E.tryCatch(
    () => createStepIo(section),
    () =>
      inputFailure(`the weights of ${model} take ${section.stepIoBytes} bytes, more than Node can allocate; take fewer classes or channels`)
  )

/** Room on the host for all weights, before they are copied into the arena. */
const allocateWeights = ({ device, planned: { staged } }: NetworkOptions): E.Either<Failure, MemoryStepIo> => {
  const { graph, program } = staged
  const bytes = program.restore.stepIoBytes
  const weights = `the weights of ${graph.model} take ${bytes} bytes`
  const beside = program.hostBytes + (device === 'cuda' ? 0 : program.peakBytes)
  return pipe(
    E.mapLeft(deviceFailure)(availableMemory()),
    E.filterOrElse(
      // What is too large by itself is refused by the device, which knows more of it.
      (available) => available === null || bytes + beside <= available.bytes || beside > available.bytes,
      (available) =>
        inputFailure(
          `${weights} beside ${beside} of activations, more than the ${available?.bytes} of memory that are ${available?.bound}: give a --budget, or a smaller one`
        )
    ),
    E.chain(() => allocateCopy(graph.model, program.restore))
  )
}

/** What a step, a reduction and an update take and hand out. */
interface SectionIo {
  readonly io: StepIo
  readonly reduceIo: StepIo | undefined
  readonly updateIo: StepIo | undefined
}

const allocateSections = ({ planned: { staged }, stepBuffer }: NetworkOptions): E.Either<Failure, SectionIo> => {
  const { step, reduce, update } = staged.program
  return E.tryCatch(
    () => ({ io: createStepIo(step, stepBuffer), reduceIo: reduce && createStepIo(reduce), updateIo: update && createStepIo(update) }),
    () =>
      inputFailure(
        `what a step of ${staged.graph.model} hands out takes ${step.stepIoBytes} bytes, more than Node can allocate: take a smaller input`
      )
  )
}

/** A session with the weights that `restored` holds. */
const openRestored = ({ planned, device, timesKernels = false, recorder, network }: NetworkOptions, restored: StepIo): Outcome<Session> =>
  pipe(
    openSession({
      device,
      math: planned.math,
      program: planned.staged.program,
      // The plan's peak, which may be far less than its budget.
      arenaBytes: planned.staged.program.peakBytes,
      timesKernels,
      traces: recorder !== undefined,
      ...(network === undefined ? {} : { network }),
      ...(planned.linkBytesPerSecond === undefined ? {} : { linkBytesPerSecond: planned.linkBytesPerSecond })
    }),
    E.mapLeft(deviceFailure),
    TE.fromEither,
    TE.chain((session) =>
      pipe(
        runSection(session)('restore', restored, noUpdate, []),
        TE.bimap(
          (failure) => (session.close(), failure),
          () => session
        )
      )
    )
  )

const openNetwork = (opening: NetworkOptions): Outcome<RunningNetwork> => {
  const { graph } = opening.planned.staged
  return pipe(
    TE.Do,
    TE.bind('restored', () => TE.fromEither(allocateWeights(opening))),
    TE.bind('startingWeights', ({ restored }) => {
      const fill = fillWeights(opening, restored)
      return opening.share === undefined ? fill : opening.share(fill, restored)
    }),
    TE.bind('sections', () => TE.fromEither(allocateSections(opening))),
    TE.bind('session', ({ restored }) => openRestored(opening, restored)),
    TE.map(({ startingWeights, session, sections }) => ({
      ...toRunningNetwork(session, sections, opening, graph.parameters),
      startingWeights
    }))
  )
}

const givenBack: Failure = { code: 'device', message: 'the device was given back for a validation, and could not be had again' }

const toRunningNetwork = (
  opened: Session,
  { io, reduceIo, updateIo }: SectionIo,
  opening: NetworkOptions,
  parameters: readonly Parameter[]
): Omit<RunningNetwork, 'startingWeights'> => {
  const { recorder, stepBuffer } = opening
  const { graph, program } = opening.planned.staged
  const { step } = program
  const [, , height, width] = program.input
  const input = { kernels: program.kernels, extent: { height, width }, takesWhole: opening.device === 'cuda' }
  let session: Session | undefined = opened
  /** Weights and optimizer state while the device is given back. */
  let saved: StepIo | undefined
  // Of the sessions before, which were suspended.
  let [peakBytes, hostPeakBytes, tilesBefore] = [0, 0, 0]
  let millisecondsBefore: readonly number[] = []
  const run = (section: SectionName, io: StepIo, values: StepParameters, images: readonly Image[], next?: NextImages): Outcome<number> => {
    const running = session
    if (running === undefined) return TE.left(givenBack)
    const loading = { ...input, code: program[section]?.code ?? [] }
    const preparing = runPreparing(running, { program, device: opening.device, next })
    return withReadAhead(loading, images, (ahead) => TE.mapLeft(deviceFailure)(preparing(running.run(section, io.buffer, values, ahead))))
  }
  const recorded = (section: 'step' | 'update', { step: number }: StepParameters) =>
    TE.map((milliseconds: number) => {
      recorder?.add({ section, number, timestamps: session?.timestamps() ?? [] })
      return milliseconds
    })
  const measuredPeakBytes = (): number => Math.max(peakBytes, session?.measuredPeakBytes() ?? 0)
  const measuredHostPeakBytes = (): number => Math.max(hostPeakBytes, session?.measuredHostPeakBytes() ?? 0)
  const repeatedTiles = (): number => tilesBefore + (session?.repeatedTiles() ?? 0)
  const kernelMilliseconds = (): readonly number[] => {
    const own = session?.kernelMilliseconds()
    return own === undefined ? millisecondsBefore : own.map((milliseconds, kernel) => milliseconds + (millisecondsBefore[kernel] ?? 0))
  }
  const suspend = (): void => {
    ;[peakBytes, hostPeakBytes, tilesBefore] = [measuredPeakBytes(), measuredHostPeakBytes(), repeatedTiles()]
    millisecondsBefore = kernelMilliseconds()
    session?.close()
    session = undefined
  }
  return {
    parameters,
    io,
    exchangesInStep: listExchanges(step.code).length > 0,
    step: (values, images, next) =>
      recorded('step', values)(runLeavingToFile(stepBuffer, images, (given) => run('step', io, values, given, next))),
    reduce: (values) => (reduceIo === undefined ? TE.right(0) : run('reduce', reduceIo, values, [])),
    updateIo,
    update: (values) => (updateIo === undefined ? TE.right(0) : recorded('update', values)(run('update', updateIo, values, []))),
    evaluate: (scores, images) => run('evaluate', scores, noUpdate, images),
    save: (into) => {
      const before = saved
      if (before === undefined) return TE.map(() => undefined)(run('save', into, noUpdate, []))
      return TE.fromIO(() => copyTensors(program.save.stepIo, before, into))
    },
    isSaved: () => saved !== undefined,
    suspendWhile: (use) => async () => {
      const allocated = allocateCopy(graph.model, program.save)
      if (E.isLeft(allocated)) return allocated
      const kept = allocated.right
      const copied = await run('save', kept, noUpdate, [])()
      if (E.isLeft(copied)) return copied
      saved = kept
      await session?.settle()
      suspend()
      const used = await use(kept)()
      const restored = allocateCopy(graph.model, program.restore)
      if (E.isLeft(restored)) return E.isLeft(used) ? used : restored
      copyTensors(program.restore.stepIo, kept, restored.right)
      const reopened = await openRestored(opening, restored.right)()
      // What failed first is why.
      if (E.isLeft(reopened)) return E.isLeft(used) ? used : reopened
      session = reopened.right
      saved = undefined
      return used
    },
    interrupt: () => session?.interrupt(),
    measuredPeakBytes,
    measuredHostPeakBytes,
    repeatedTiles,
    kernelMilliseconds,
    close: () => session?.close()
  }
}

/** Runs a section that aborting the signal ends, or prevents where it was aborted before. */
export const withAbort =
  <A>(signal: AbortSignal | undefined, network: RunningNetwork, run: Outcome<A>): Outcome<A> =>
  async () => {
    if (signal?.aborted) return E.left(interrupted)
    const stop = (): void => network.interrupt()
    signal?.addEventListener('abort', stop)
    const ended = await run().finally(() => signal?.removeEventListener('abort', stop))
    return pipe(
      ended,
      E.mapLeft((failure) => (failure.code === 'interrupted' ? interrupted : failure))
    )
  }

/** Opens the network, hands it to `use`, and closes it whatever happens. */
export const withNetwork = <A>(opening: NetworkOptions, use: (network: RunningNetwork) => Outcome<A>): Outcome<A> =>
  withResource(openNetwork(opening), use, (network) => network.close())
