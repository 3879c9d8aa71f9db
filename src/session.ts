import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import { type Image, type Session, openSession } from '../native'
import type { Staged } from '../staging'
import type { Parameter } from '../staging/graph'
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
  /** Weights and optimizer state, copied out into the given exchange of the save section. */
  readonly save: (exchange: Exchange) => Outcome<void>
  readonly interrupt: () => void
  readonly measuredPeakBytes: () => number
  readonly close: () => void
}

const noStep: StepParameters = { learningRate: 0, step: 0, seed: 0 }

/** Fills the restore exchange: weights from a file or drawn from the seed; optimizer state is zero. */
const fillWeights = (
  model: string,
  parameters: readonly Parameter[],
  weights: string | undefined,
  seed: number,
  exchange: Exchange
): Outcome<void> => {
  if (weights !== undefined) return readWeights(weights, model, parameters, exchange)
  return TE.fromIO(() => {
    for (const { name, shape } of parameters) initialise(seed, name, shape, exchange.view(name) as Float32Array | Float64Array)
  })
}

const run =
  (session: Session) =>
  (section: 'step' | 'restore' | 'save', { buffer }: Exchange, parameters: StepParameters, images: readonly Image[]): Outcome<number> =>
    TE.mapLeft(deviceFailure)(session.run(section, buffer, parameters, images))

export interface Opening {
  readonly planned: Planned
  /** A safetensors file; drawn from the seed where absent. */
  readonly weights?: string | undefined
  readonly seed: number
}

/** Room on the host for all weights, before they are copied into the arena. */
const roomForWeights = ({ graph, program }: Staged): E.Either<Failure, Exchange> =>
  E.tryCatch(
    () => exchangeFor(program.restore),
    () =>
      inputFailure(
        `the weights of ${graph.model} take ${program.restore.exchangeBytes} bytes, more than Node can allocate; take fewer classes or channels`
      )
  )

const open = ({ planned, weights, seed }: Opening): Outcome<RunningNetwork> => {
  const { program, graph } = planned.staged
  const { parameters } = graph
  return pipe(
    TE.Do,
    TE.bind('restored', () => TE.fromEither(roomForWeights(planned.staged))),
    TE.chainFirst(({ restored }) => fillWeights(graph.model, parameters, weights, seed, restored)),
    TE.bind('session', () =>
      pipe(openSession({ device: planned.device, program, arenaBytes: planned.arenaBytes }), E.mapLeft(deviceFailure), TE.fromEither)
    ),
    TE.chain(({ restored, session }) =>
      pipe(
        run(session)('restore', restored, noStep, []),
        TE.mapLeft((failure) => (session.close(), failure)),
        TE.map(() => running(session, planned, parameters))
      )
    )
  )
}

const running = (session: Session, { staged }: Planned, parameters: readonly Parameter[]): RunningNetwork => {
  const exchange = exchangeFor(staged.program.step)
  return {
    parameters,
    exchange,
    step: (values, images) => run(session)('step', exchange, values, images),
    save: (saved) => TE.map(() => undefined)(run(session)('save', saved, noStep, [])),
    interrupt: () => session.interrupt(),
    measuredPeakBytes: () => session.measuredPeakBytes(),
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
  TE.bracket<Failure, RunningNetwork, A>(open(opening), use, (network) => TE.fromIO(() => network.close()))
