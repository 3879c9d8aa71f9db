import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import * as t from 'io-ts'
import { offloadStrategies } from '../../staging/chain'
import { strategyNames } from '../../staging/strategies/names'
import { type Failure, inputFailure } from '../failure'

/** Of an input: above, bytes of what networks make of it are no exact numbers any more, and no machine holds them. */
export const mostElements = 2 ** 40

/** As many as a device takes. */
export const mostThreads = 1024

/** Of offload's dynprog: finer than any size is known. */
export const mostSlots = 10_000

const whole = (least: number, most = Number.MAX_SAFE_INTEGER): t.Mixed =>
  t.refinement(
    t.number,
    (value) => Number.isSafeInteger(value) && value >= least && value <= most,
    `a whole number from ${least} ${most === Number.MAX_SAFE_INTEGER ? 'upwards' : `to ${most}`}`
  )
const positive = t.refinement(t.number, (value) => value > 0 && Number.isFinite(value), 'a number above zero')
const extents = (count: number): t.Mixed =>
  t.refinement(
    t.array(t.number),
    (values) =>
      values.length === count &&
      values.every((value) => Number.isSafeInteger(value) && value > 0) &&
      values.reduce((product, value) => product * value, 1) <= mostElements,
    `${count} whole numbers above zero whose product is at most 2^40`
  )
const oneOf = (...names: readonly string[]): t.Mixed => t.refinement(t.string, (name) => names.includes(name), `one of ${names.join(', ')}`)

/** A device of this machine, or the path of a file that describes one. */
export const isDeviceText = (text: string): boolean => ['cpu', 'cuda', 'reference'].includes(text) || text.endsWith('.json')

/** What values are good; texts of the command line are checked as they are parsed. */
const codecs: Readonly<Record<string, t.Mixed>> = {
  input: extents(4),
  crop: extents(2),
  classes: whole(1),
  head: oneOf('gap', 'classic'),
  device: t.refinement(
    t.unknown,
    (device) => (typeof device === 'string' ? isDeviceText(device) : typeof device === 'object'),
    'one of cpu, cuda, reference, or the path of a *.json file'
  ),
  precision: oneOf('float32', 'tf32', 'bf16', 'float64'),
  strategy: oneOf(...strategyNames),
  link: t.union([t.string, whole(1)], 'a rate such as 2GB/s, or bytes per second from 1 upwards'),
  offloadStrategy: oneOf(...offloadStrategies),
  slots: whole(1, mostSlots),
  threads: whole(1, mostThreads),
  exactKernels: t.boolean,
  measure: t.boolean,
  seed: whole(0),
  accumulate: whole(1),
  clipNorm: positive,
  steps: whole(1),
  epochs: positive,
  lr: positive,
  warmup: whole(0),
  validation: t.union(
    [t.string, t.UnknownRecord, t.refinement(t.number, (value) => value > 0 && value < 1)],
    'a path, a share above 0 and below 1, or a dataset'
  ),
  validateEvery: whole(1),
  bestBy: oneOf('loss', 'accuracy', 'auc', 'iou'),
  earlyStop: whole(1),
  stateEvery: whole(1),
  capacity: whole(1),
  placement: oneOf('static', 'best-fit', 'gtbm', 'virtual'),
  chunk: t.union([t.string, t.UnknownRecord, whole(1)], 'a size such as 64KiB, or a whole number of bytes from 1 upwards')
}

const text = (value: unknown): string => (typeof value === 'number' ? `${value}` : JSON.stringify(value))

/** One sentence on the first option whose value is none, as JavaScript and casts get past the compiler. */
export const checkValues = (options: object): E.Either<Failure, void> => {
  const wrong = Object.entries(options).find(([name, value]) => value !== undefined && codecs[name]?.is(value) === false)
  return wrong === undefined ? E.right(undefined) : E.left(inputFailure(`${wrong[0]} is ${text(wrong[1])}, not ${codecs[wrong[0]]?.name}`))
}

/** A value, or its text as the command line takes it. */
export const orText = <A>(name: string, value: A | string, parse: (text: string) => E.Either<string, A>): E.Either<Failure, A> =>
  typeof value === 'string'
    ? pipe(
        parse(value),
        E.mapLeft((fault) => inputFailure(`${name}: ${fault}`))
      )
    : E.right(value)

/** The same for an option that may be left out. */
export const orTextIfPresent = <A>(
  name: string,
  value: A | string | undefined,
  parse: (text: string) => E.Either<string, A>
): E.Either<Failure, A | undefined> => (value === undefined ? E.right(undefined) : orText<A>(name, value, parse))

/** Options that are there, and nothing for those that are not. */
export const present = <O extends object>(options: O): { [K in keyof O]?: Exclude<O[K], undefined> } =>
  Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as { [K in keyof O]?: Exclude<O[K], undefined> }
