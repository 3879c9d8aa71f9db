import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import { type DeviceName, type Image, type SectionName, type Session, availableMemory, openSession } from '../native'
import type { Parameter } from '../staging/graph/graph'
import { closing } from './closing'
import { type Exchange, exchangeFor } from './exchange'
import { type Failure, type Outcome, deviceFailure, inputFailure } from './failure'
import { initialise } from './initialise'
import type { Planned } from './planning'
import { readWeights } from './weights'

export interface StepParameters {
  readonly learningRate: number
  readonly step: number
  readonly seed: number
}

/** A network on its device, ready to run: a session of the native interpreter with its exchange buffers. */
export interface RunningNetwork {
  readonly parameters: readonly Parameter[]
  /** The exchange of the step section: fill in `target`, run a step, read `loss`. */
  readonly exchange: Exchange
  /** Runs one step; milliseconds that it took. */
  readonly step: (parameters: StepParameters, images: readonly Image[]) => Outcome<number>
  /** The exchange of the update section, where the Program has one. */
  readonly updateExchange: Exchange | undefined
  /** Updates the weights from gradients that steps have added up; nothing where a step does that itself. */
  readonly update: (parameters: StepParameters) => Outcome<number>
  /** Forward alone; the scores are left in the given exchange of the evaluate section. */
  readonly evaluate: (exchange: Exchange, images: readonly Image[]) => Outcome<number>
  /** Weights and optimizer state, copied out into the given exchange of the save section. */
  readonly save: (exchange: Exchange) => Outcome<void>
  readonly interrupt: () => void
  readonly measuredPeakBytes: () => number
  readonly measuredHostPeakBytes: () => number
  /** By kernel of the Program: milliseconds of all its launches so far, where they are timed. */
  readonly kernelMilliseconds: () => readonly number[]
  readonly close: () => void
}

const noStep: StepParameters = { learningRate: 0, step: 0, seed: 0 }

/** Fills the restore exchange: weights from a file or drawn from the seed, and optimizer state zero; or all as it was saved. */
const fillWeights = ({ planned, weights, state, seed }: Opening, exchange: Exchange): Outcome<void> => {
  const { model, parameters } = planned.staged.graph
  if (state !== undefined) return state(exchange)
  if (weights !== undefined) return readWeights(weights, model, parameters, exchange)
  return TE.fromIO(() => {
    const last = parameters.findLast(({ role }) => role === 'weight')
    for (const parameter of parameters) {
      const { name, shape } = parameter
      initialise(seed, name, shape, exchange.view(name) as Float32Array | Float64Array, parameter === last)
    }
  })
}

const run =
  (session: Session) =>
  (section: SectionName, { buffer }: Exchange, parameters: StepParameters, images: readonly Image[]): Outcome<number> =>
    TE.mapLeft(deviceFailure)(session.run(section, buffer, parameters, images))

export interface Opening {
  readonly planned: Planned
  readonly device: DeviceName
  /** A safetensors file; drawn from the seed where absent. */
  readonly weights?: string | undefined
  /** Instead of weights: fills the restore exchange with all that an earlier training left. */
  readonly state?: ((exchange: Exchange) => Outcome<void>) | undefined
  readonly seed: number
  /** Whether the time of each launch is measured. */
  readonly timesKernels?: boolean
}

/** Room on the host for all weights, before they are copied into the arena. */
const roomForWeights = ({ device, planned: { arenaBytes, staged } }: Opening): E.Either<Failure, Exchange> => {
  const { graph, program } = staged
  const bytes = program.restore.exchangeBytes
  const weights = `the weights of ${graph.model} take ${bytes} bytes`
  const beside = program.hostBytes + (device === 'cuda' ? 0 : arenaBytes)
  return pipe(
    E.mapLeft(deviceFailure)(availableMemory()),
    E.filterOrElse(
      // What is too large by itself is refused by the device, which knows more of it.
      (available) => available === null || bytes + beside <= available.bytes || beside > available.bytes,
      (available) =>
        inputFailure(
          `${weights} beside ${beside} of activations, more than the ${available?.bytes} of memory that are ${available?.bound}: give a smaller --budget`
        )
    ),
    E.chain(() =>
      E.tryCatch(
        () => exchangeFor(program.restore),
        () => inputFailure(`${weights}, more than Node can allocate; take fewer classes or channels`)
      )
    )
  )
}

const open = (opening: Opening): Outcome<RunningNetwork> => {
  const { planned } = opening
  const { program, graph } = planned.staged
  return pipe(
    TE.Do,
    TE.bind('restored', () => TE.fromEither(roomForWeights(opening))),
    TE.chainFirst(({ restored }) => fillWeights(opening, restored)),
    TE.bind('session', () =>
      pipe(
        openSession({
          device: opening.device,
          math: planned.math,
          program,
          arenaBytes: planned.arenaBytes,
          timesKernels: opening.timesKernels ?? false,
          ...(planned.linkBytesPerSecond === undefined ? {} : { linkBytesPerSecond: planned.linkBytesPerSecond })
        }),
        E.mapLeft(deviceFailure),
        TE.fromEither
      )
    ),
    TE.chain(({ restored, session }) =>
      pipe(
        run(session)('restore', restored, noStep, []),
        TE.mapLeft((failure) => (session.close(), failure)),
        TE.map(() => running(session, planned, graph.parameters))
      )
    )
  )
}

const running = (session: Session, { staged }: Planned, parameters: readonly Parameter[]): RunningNetwork => {
  const { step, update } = staged.program
  const exchange = exchangeFor(step)
  const updateExchange = update && exchangeFor(update)
  return {
    parameters,
    exchange,
    step: (values, images) => run(session)('step', exchange, values, images),
    updateExchange,
    update: (values) => (updateExchange === undefined ? TE.right(0) : run(session)('update', updateExchange, values, [])),
    evaluate: (scores, images) => run(session)('evaluate', scores, noStep, images),
    save: (saved) => TE.map(() => undefined)(run(session)('save', saved, noStep, [])),
    interrupt: () => session.interrupt(),
    measuredPeakBytes: () => session.measuredPeakBytes(),
    measuredHostPeakBytes: () => session.measuredHostPeakBytes(),
    kernelMilliseconds: () => session.kernelMilliseconds(),
    close: () => session.close()
  }
}

/** One run of a section that aborting the signal ends, or prevents where it was aborted before. */
export const stoppable =
  <A>(signal: AbortSignal | undefined, network: RunningNetwork, run: Outcome<A>): Outcome<A> =>
  async () => {
    if (signal?.aborted) return E.left({ code: 'interrupted', message: 'interrupted before the step began' })
    const stop = (): void => network.interrupt()
    signal?.addEventListener('abort', stop)
    return run().finally(() => signal?.removeEventListener('abort', stop))
  }

/** Opens the network, hands it to `use`, and closes it whatever happens. */
export const withNetwork = <A>(opening: Opening, use: (network: RunningNetwork) => Outcome<A>): Outcome<A> =>
  closing(open(opening), use, (network) => network.close())
