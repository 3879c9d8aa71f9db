import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import * as t from 'io-ts'
import { type Failure, type Outcome, inputFailure, errorReason } from '../failure'
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

type Call = <A>(path: string, codec: t.Type<A>, body?: object) => Outcome<A>

/** A server, and what its calls carry to be let in. */
interface Server {
  /** Without a name and a password: it is told in sentences. */
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
}

/** Credentials of the URL, or of the variables that MLflow's own clients read. */
const parseServer = (given: string): Server => {
  const { MLFLOW_TRACKING_TOKEN: token, MLFLOW_TRACKING_USERNAME: user = '', MLFLOW_TRACKING_PASSWORD: password = '' } = process.env
  const url = new URL(given)
  const [name, secret] = url.username === '' ? [user, password] : [url.username, url.password].map((part) => decodeURIComponent(part))
  url.username = url.password = ''
  const basic = `Basic ${Buffer.from(`${name}:${secret}`).toString('base64')}`
  const authorization = name !== '' ? basic : token ? `Bearer ${token}` : undefined
  return { url: url.href.replace(/\/+$/, ''), headers: authorization === undefined ? {} : { authorization } }
}

const remedy = 'give the address of a server that answers'

/** Why a call has no answer. */
const unansweredReason = (path: string, thrown: unknown): string => {
  if (!(thrown instanceof Error)) return errorReason(thrown)
  if (thrown.name === 'TimeoutError') return `${path} was not answered within ${patienceMilliseconds / 1000} seconds; ${remedy}`
  return thrown.cause instanceof Error ? `${errorReason(thrown.cause)}; ${remedy}` : errorReason(thrown)
}

/** Calls of MLflow's REST interface, version 2.0; each answer is decoded. */
const makeCall = ({ url, headers }: Server): Call => {
  const failed = (reason: string): Failure => inputFailure(`--mlflow ${url}: ${reason}`)
  return (path, codec, body) =>
    pipe(
      TE.tryCatch(
        async () => {
          const answer = await fetch(`${url}/api/2.0/mlflow/${path}`, {
            signal: AbortSignal.timeout(patienceMilliseconds),
            ...(body === undefined
              ? { headers }
              : { method: 'POST', headers: { ...headers, 'content-type': 'application/json' }, body: JSON.stringify(body) })
          })
          const text = await answer.text()
          if (answer.status === 401 || answer.status === 403)
            throw new Error(
              `${path} was refused with status ${answer.status}: set MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD, or MLFLOW_TRACKING_TOKEN`
            )
          if (!answer.ok) throw new Error(`${path} was answered with status ${answer.status}: ${text.slice(0, 200)}`)
          return JSON.parse(text === '' ? '{}' : text) as unknown
        },
        (thrown) => failed(unansweredReason(path, thrown))
      ),
      TE.chainEitherK((answer) =>
        pipe(
          codec.decode(answer),
          E.mapLeft(() => failed(`${path} was answered with something else than MLflow answers`))
        )
      )
    )
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
const createSender = (call: Call, runId: string, notify: (sentence: string) => void) => {
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
    flush: async (): Promise<void> => {
      await sending
      await send()
    }
  }
}

const findOrCreateExperiment = (call: Call): Outcome<string> =>
  pipe(
    call(`experiments/get-by-name?experiment_name=${experimentName}`, experimentAnswer),
    TE.map(({ experiment }) => experiment.experiment_id),
    // It is not there yet; where the server is not, this says so too.
    TE.orElse(() =>
      pipe(
        call('experiments/create', createdAnswer, { name: experimentName }),
        TE.map(({ experiment_id: id }) => id)
      )
    )
  )

/** Fails where no server answers as MLflow does; makes the experiment `tilefold` where it lacks. */
export const checkMlflow = (url: string): Outcome<unknown> => findOrCreateExperiment(makeCall(parseServer(url)))

/**
 * Begins a run of the experiment `tilefold` on an MLflow server, with the hyper-parameters. Fails
 * where the server does not answer; if it fails later, that is said once, and the training goes on.
 */
export const openMlflow = (url: string, { graph, hyperParameters }: TrackedRun, notify: (sentence: string) => void): Outcome<Tracker> => {
  const call = makeCall(parseServer(url))
  return pipe(
    findOrCreateExperiment(call),
    TE.chain((id) => call('runs/create', runAnswer, { experiment_id: id, run_name: graph.model, start_time: Date.now() })),
    TE.map(({ run }) => run.info.run_id),
    TE.chainFirst((runId) => {
      const params = Object.entries(hyperParameters).map(([key, value]) => ({ key, value: value.slice(0, maxCharacters) }))
      return TE.traverseSeqArray((some: typeof params) => call('runs/log-batch', t.unknown, { run_id: runId, params: some }))(
        chunks(params, maxParams) as (typeof params)[]
      )
    }),
    TE.map((runId): Tracker => {
      const sender = createSender(call, runId, notify)
      return {
        step: (report) => TE.fromIO(() => sender.add(report.step + 1, scalarsOfStep(report))),
        validation: (validation) => TE.fromIO(() => sender.add(validation.step, scalarsOfValidation(validation))),
        close: async (ending) => {
          await sender.flush()
          const ended = await call('runs/update', t.unknown, { run_id: runId, status: statuses[ending], end_time: Date.now() })()
          if (E.isLeft(ended)) notify(ended.left.message)
        }
      }
    })
  )
}
