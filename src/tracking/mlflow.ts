import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import * as t from 'io-ts'
import { type Failure, type Outcome, inputFailure, errorReason, isError } from '../failure'
import type { Ending, Tracker } from '../training/tracker'
import { type Scalar, type TrackedRun, scalarsOfStep, scalarsOfValidation } from './tracked-run'

/** What MLflow takes in one call, at most; and characters of a parameter. */
const [maxMetrics, maxParams, maxCharacters] = [1000, 100, 500]
/** A server that is this slow does not hold a training up. */
const patienceMilliseconds = 10_000

const experimentName = 'tilefold'

const experimentAnswer = t.type({ experiment: t.type({ experiment_id: t.string }) })
const createdAnswer = t.type({ experiment_id: t.string })
const runAnswer = t.type({ run: t.type({ info: t.type({ run_id: t.string }) }) })

interface Answer {
  /** What was asked. */
  readonly call: string
  readonly status: number
  readonly text: string
}

interface Client {
  /** Fails where nothing is answered. */
  readonly ask: (path: string, body?: object) => Outcome<Answer>
  readonly decode: <A>(codec: t.Type<A>) => (answer: Answer) => E.Either<Failure, A>
  readonly call: <A>(path: string, codec: t.Type<A>, body?: object) => Outcome<A>
}

/** A server, and what its calls carry to be let in. */
interface Server {
  /** Without a name and a password: it is told in sentences. */
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
}

/** Text of a URL as it is meant; as it stands where it has a % by itself. */
const decodePart = (part: string): string =>
  pipe(
    E.tryCatch(
      () => decodeURIComponent(part),
      () => part
    ),
    E.toUnion
  )

/** Credentials of the URL, or of the variables that MLflow's own clients read. */
const parseServer = (given: string): Server => {
  const { MLFLOW_TRACKING_TOKEN: token, MLFLOW_TRACKING_USERNAME: user = '', MLFLOW_TRACKING_PASSWORD: password = '' } = process.env
  const url = new URL(given)
  const [name, secret] = url.username === '' ? [user, password] : [decodePart(url.username), decodePart(url.password)]
  url.username = url.password = ''
  const basic = `Basic ${Buffer.from(`${name}:${secret}`).toString('base64')}`
  const authorization = name !== '' ? basic : token ? `Bearer ${token}` : undefined
  return { url: url.href.replace(/\/+$/, ''), headers: authorization === undefined ? {} : { authorization } }
}

const remedy = 'give the address of a server that answers'

const nameOf = (path: string): string => path.replace(/\?.*/, '')

/** Why a call has no answer. */
const unansweredReason = (call: string, thrown: unknown): string => {
  if (!isError(thrown)) return errorReason(thrown)
  if (thrown.name === 'TimeoutError') return `${call} was not answered within ${patienceMilliseconds / 1000} seconds; ${remedy}`
  return isError(thrown.cause) ? `${errorReason(thrown.cause)}; ${remedy}` : errorReason(thrown)
}

/** What MLflow's REST interface, version 2.0, is asked at a server. */
const makeClient = ({ url, headers }: Server): Client => {
  const failed = (reason: string): Failure => inputFailure(`--mlflow ${url}: ${reason}`)
  const ask: Client['ask'] = (path, body) =>
    TE.tryCatch(
      async () => {
        const answer = await fetch(`${url}/api/2.0/mlflow/${path}`, {
          signal: AbortSignal.timeout(patienceMilliseconds),
          ...(body === undefined
            ? { headers }
            : { method: 'POST', headers: { ...headers, 'content-type': 'application/json' }, body: JSON.stringify(body) })
        })
        return { call: nameOf(path), status: answer.status, text: await answer.text() }
      },
      (thrown) => failed(unansweredReason(nameOf(path), thrown))
    )
  const decode: Client['decode'] =
    (codec) =>
    ({ call, status, text }) => {
      if (status === 401 || status === 403)
        return E.left(
          failed(
            `${call} was refused with status ${status}: set MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD, or MLFLOW_TRACKING_TOKEN`
          )
        )
      if (status < 200 || status > 299) return E.left(failed(`${call} was answered with status ${status}: ${text.slice(0, 200)}`))
      return pipe(
        E.tryCatch(
          () => JSON.parse(text === '' ? '{}' : text) as unknown,
          () => undefined
        ),
        E.chainW(codec.decode),
        E.mapLeft(() => failed(`${call} was answered with something else than MLflow answers; ${remedy}`))
      )
    }
  return { ask, decode, call: (path, codec, body) => TE.chainEitherK(decode(codec))(ask(path, body)) }
}

const statuses: Readonly<Record<Ending, string>> = { finished: 'FINISHED', failed: 'FAILED', interrupted: 'KILLED' }

const chunks = <A>(all: readonly A[], most: number): readonly (readonly A[])[] =>
  Array.from({ length: Math.ceil(all.length / most) }, (_, index) => all.slice(index * most, (index + 1) * most))

interface Metric {
  readonly key: string
  readonly value: number
  readonly timestamp: number
  readonly step: number
}

/** Sends what has gathered, one call at a time and without being waited for. */
const createSender = ({ call }: Client, runId: string, notify: (sentence: string) => void) => {
  let waiting: Metric[] = []
  let sending: Promise<void> | undefined
  let hasFailed = false
  const send = async (): Promise<void> => {
    while (waiting.length > 0 && !hasFailed) {
      const metrics = waiting.slice(0, maxMetrics)
      waiting = waiting.slice(maxMetrics)
      const sent = await call('runs/log-batch', t.unknown, { run_id: runId, metrics })()
      if (E.isRight(sent)) continue
      hasFailed = true
      notify(`${sent.left.message}; the training goes on, and MLflow is told no more`)
    }
    sending = undefined
  }
  return {
    add: (step: number, scalars: readonly Scalar[]): void => {
      if (hasFailed) return
      const timestamp = Date.now()
      waiting.push(...scalars.flatMap(({ tag, value }) => (Number.isFinite(value) ? [{ key: tag, value, timestamp, step }] : [])))
      if (waiting.length > 0) sending ??= send()
    },
    /** Whether all of it has arrived. */
    flush: async (): Promise<boolean> => {
      await sending
      await send()
      return !hasFailed
    }
  }
}

const absent = 404

const findOrCreateExperiment = ({ ask, decode, call }: Client): Outcome<string> =>
  pipe(
    ask(`experiments/get-by-name?experiment_name=${experimentName}`),
    TE.chain((answer) =>
      answer.status === absent
        ? TE.map(({ experiment_id: id }: t.TypeOf<typeof createdAnswer>) => id)(
            call('experiments/create', createdAnswer, { name: experimentName })
          )
        : pipe(
            TE.fromEither(decode(experimentAnswer)(answer)),
            TE.map(({ experiment }) => experiment.experiment_id)
          )
    )
  )

/** Fails where no server answers as MLflow does; makes the experiment `tilefold` where it lacks. */
export const checkMlflow = (url: string): Outcome<unknown> => findOrCreateExperiment(makeClient(parseServer(url)))

/**
 * Begins a run of the experiment `tilefold` on an MLflow server, with the hyper-parameters. Fails
 * where the server does not answer; if it fails later, that is said once, and the training goes on.
 */
export const openMlflow = (url: string, { graph, hyperParameters }: TrackedRun, notify: (sentence: string) => void): Outcome<Tracker> => {
  const client = makeClient(parseServer(url))
  const { call } = client
  return pipe(
    findOrCreateExperiment(client),
    TE.chain((id) => call('runs/create', runAnswer, { experiment_id: id, run_name: graph.model, start_time: Date.now() })),
    TE.map(({ run }) => run.info.run_id),
    TE.chainFirst((runId) => {
      const params = Object.entries(hyperParameters).map(([key, value]) => ({ key, value: value.slice(0, maxCharacters) }))
      return TE.traverseSeqArray((some: typeof params) => call('runs/log-batch', t.unknown, { run_id: runId, params: some }))(
        chunks(params, maxParams) as (typeof params)[]
      )
    }),
    TE.map((runId): Tracker => {
      const sender = createSender(client, runId, notify)
      return {
        step: (report) => TE.fromIO(() => sender.add(report.step + 1, scalarsOfStep(report))),
        validation: (validation) => TE.fromIO(() => sender.add(validation.step, scalarsOfValidation(validation))),
        close: async (ending) => {
          const isHeard = await sender.flush()
          const ended = await call('runs/update', t.unknown, { run_id: runId, status: statuses[ending], end_time: Date.now() })()
          if (isHeard && E.isLeft(ended)) notify(ended.left.message)
        }
      }
    })
  )
}
