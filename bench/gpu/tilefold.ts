import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import * as t from 'io-ts'
import { join } from 'node:path'
import { exitStatus, errorReason } from '../../src/failure'
import { type ProcessResult, describeEnd, runNode } from './bounded'
import { type Refusal, refusal, timeIsUp } from './refusal'

const script = join(__dirname, '..', '..', 'src', 'cli.js')

const answerOf = <A>(codec: t.Type<A, unknown>, ended: ProcessResult): E.Either<Refusal, A> =>
  ended.status === 0
    ? pipe(
        E.tryCatch(
          () => JSON.parse(ended.stdout) as unknown,
          (thrown) => refusal(`tilefold answered no JSON: ${errorReason(thrown)}`)
        ),
        E.chain((answer) =>
          pipe(
            codec.decode(answer),
            E.mapLeft(() => refusal(`tilefold answered ${ended.stdout.trim().slice(0, 200)}`))
          )
        )
      )
    : E.left(refusal(describeEnd(ended), ended.status === exitStatus.budget))

/** The options of a step of a network on a batch of square images. */
export const setupOf = ({
  classes,
  device,
  precision,
  batch,
  size
}: Record<'device' | 'precision', string> & Record<'classes' | 'batch' | 'size', number>): readonly string[] => [
  ...['--classes', `${classes}`, '--device', device, '--precision', precision],
  ...['--input', `${batch}x3x${size}x${size}`]
]

/** The command line with --json, for so many seconds at most: its answer, or its sentence. */
export const tilefold = async <A>(codec: t.Type<A, unknown>, args: readonly string[], seconds: number): Promise<E.Either<Refusal, A>> =>
  seconds <= 0 ? E.left(timeIsUp) : answerOf(codec, await runNode([script, ...args, '--json'], seconds))
