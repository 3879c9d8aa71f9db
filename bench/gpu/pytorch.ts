import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import * as t from 'io-ts'
import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { errorReason } from '../../src/failure'
import { endsFirst, killGroup } from './bounded'
import { deadlineIn } from './deadline'
import { type Refusal, refusal, timeIsUp } from './refusal'

const Ready = t.type({ ready: t.literal(true), version: t.string, device: t.string, memoryBytes: t.union([t.number, t.null]) })
type Ready = t.TypeOf<typeof Ready>
const Failed = t.intersection([t.type({ error: t.string, outOfMemory: t.boolean }), t.partial({ isLost: t.boolean })])

/** A PyTorch in a Python of its own. */
export interface Pytorch extends Ready {
  /**
   * One request of pytorch_peer.py's, for so many seconds at most; what takes longer is ended, and
   * the next request starts anew. One at a time.
   */
  readonly ask: <A>(codec: t.Type<A, unknown>, request: object, seconds: number) => Promise<E.Either<Refusal, A>>
  readonly close: () => void
}

/** Python's environment as it was before the bundle's launcher put its own libraries first. */
const environment = (): NodeJS.ProcessEnv => {
  const { LD_LIBRARY_PATH: _, TILEFOLD_OUTER_LIBRARY_PATH: outer, ...others } = process.env
  return outer === undefined ? process.env : { ...others, ...(outer === '' ? {} : { LD_LIBRARY_PATH: outer }) }
}

interface Peer {
  readonly ready: Ready
  readonly ask: (request: object, seconds: number) => Promise<E.Either<Refusal, unknown>>
  readonly alive: () => boolean
  readonly close: () => void
}

const script = join(__dirname, '..', 'pytorch_peer.py')

/** Torch loads from a cold disk in up to a minute. */
const startSeconds = 90

const startPeer = async (python: string, device: string, seconds: number): Promise<E.Either<Refusal, Peer>> => {
  // A group of its own: a script that starts the real Python does not end alone.
  const child: ChildProcess = spawn(python, [script, '--device', device], { stdio: 'pipe', env: environment(), detached: true })
  endsFirst(child.pid)
  const kill = (): void => killGroup(child)
  process.once('exit', kill)
  child.once('close', () => process.off('exit', kill))
  const lines = createInterface({ input: child.stdout! })[Symbol.asyncIterator]()
  let complaint = ''
  let alive = true
  child.stderr!.on('data', (text) => (complaint += String(text)))
  child.stdin!.on('error', () => undefined)
  const ended = new Promise<E.Either<Refusal, never>>((resolve) => {
    const end = (reason: string): void => {
      alive = false
      resolve(E.left(refusal(reason)))
    }
    child.on('error', (error) => end(`${python} cannot be run: ${error.message}`))
    child.on('close', (status) => end(complaint.trim().split('\n').at(-1) || `${python} ended with status ${status}`))
  })
  const line = async (): Promise<E.Either<Refusal, unknown>> => {
    const { done, value } = await lines.next()
    if (done === true) return ended
    // What a library prints is no answer, and the answer comes behind it.
    if (!value.startsWith('{')) return line()
    return E.tryCatch(
      () => JSON.parse(value) as unknown,
      (thrown) => refusal(`PyTorch's side answered no JSON: ${errorReason(thrown)}`)
    )
  }
  const within = async (seconds: number): Promise<E.Either<Refusal, unknown>> => {
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<E.Either<Refusal, never>>((resolve) => {
      timer = setTimeout(() => {
        alive = false
        kill()
        resolve(E.left(refusal(`it was ended after ${Math.round(seconds)} s`)))
      }, seconds * 1000)
    })
    return Promise.race([line(), ended, late]).finally(() => clearTimeout(timer))
  }
  return pipe(
    await within(seconds),
    E.chain((answer) => E.mapLeft(() => refusal(`${python} answered ${JSON.stringify(answer)}`))(Ready.decode(answer))),
    E.map((ready) => ({
      ready,
      ask: async (request, seconds) => {
        child.stdin!.write(`${JSON.stringify(request)}\n`)
        const answer = await within(seconds)
        // It ends by itself: its GPU does nothing more for it.
        if (E.isRight(answer) && Failed.is(answer.right) && answer.right.isLost === true) alive = false
        return answer
      },
      alive: () => alive,
      close: () => child.stdin!.end()
    }))
  )
}

const answerOf = <A>(codec: t.Type<A, unknown>, answer: unknown): E.Either<Refusal, A> =>
  Failed.is(answer)
    ? E.left(refusal(answer.error, answer.outOfMemory))
    : E.mapLeft(() => refusal(`PyTorch's side answered ${JSON.stringify(answer)}`))(codec.decode(answer))

/** Starts `python` with torch on a device; fails with the reason why it has none. */
export const startPytorch = async (python: string, device: string): Promise<E.Either<Refusal, Pytorch>> => {
  const first = await startPeer(python, device, startSeconds)
  if (E.isLeft(first)) return first
  let peer = first.right
  return E.right({
    ...peer.ready,
    ask: async (codec, request, seconds) => {
      if (seconds <= 0) return E.left(timeIsUp)
      // Starting anew takes its time of it.
      const { atMost } = deadlineIn(seconds)
      if (!peer.alive()) {
        const again = await startPeer(python, device, Math.min(startSeconds, seconds))
        if (E.isLeft(again)) return again
        peer = again.right
      }
      return E.chain((answer) => answerOf(codec, answer))(await peer.ask(request, atMost(seconds)))
    },
    close: () => peer.close()
  })
}
