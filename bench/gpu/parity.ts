import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import * as t from 'io-ts'
import { vgg16 } from '../../models'
import { initialise } from '../../src/weights/initialise'
import { randomStream } from '../../src/numbers/random'
import { type TensorData, openTensorFile, readTensor, writeTensors } from '../../src/weights/safetensors'
import { buildGraph } from '../../staging'
import { type Lanes, lanes, untimedAtOnce } from './at-once'
import type { Check, CheckPrecision } from './check-options'
import type { Deadline } from './deadline'
import type { Pytorch } from './pytorch'
import { type Refusal, refusal, timeIsUp } from './refusal'
import { tilefold } from './tilefold'
import { tiledModule } from './tiled-module'

/**
 * How far gradients are from those in float64: ||g - g64|| / ||g64|| over the input's and all
 * parameters' as one vector.
 */
export type Error64 = E.Either<Refusal, number>

/** Errors of one seed's gradients against float64, of Tilefold and of PyTorch. */
export interface Parity {
  readonly precision: CheckPrecision
  readonly size: number
  readonly seed: number
  /** Who computed in float64. */
  readonly exactBy: string
  /** By net: whole, and in tiles. */
  readonly tilefold: Readonly<Record<'whole' | 'tiled', Error64>>
  readonly pytorch: Error64
}

const classes = 2
const nets = { whole: () => 'vgg16', tiled: tiledModule } as const

interface Case {
  readonly size: number
  readonly seed: number
  readonly weights: string
  readonly batch: string
  readonly folder: string
}

const product = (shape: readonly number[]): number => shape.reduce((all, extent) => all * extent, 1)

/** Weights and one image as all sides read them. */
const writeCase = (folder: string, size: number, seed: number): TE.TaskEither<Refusal, Case> => {
  const [weights, batch] = [join(folder, `weights-${size}-${seed}`), join(folder, `batch-${size}-${seed}`)]
  const shape = [1, 3, size, size]
  const input = new Float32Array(product(shape))
  randomStream(seed, 'input').fillNormal(input, 1)
  const drawn = (name: string, of: readonly number[]): TensorData => {
    const data = new Float32Array(product(of))
    initialise(seed, name, of, data)
    return { name, type: 'F32', shape: of, data }
  }
  return pipe(
    TE.fromEither(buildGraph(vgg16({ classes }), shape)),
    TE.chainW(({ parameters }) =>
      writeTensors(
        weights,
        parameters.map(({ name, shape: of }) => drawn(name, of))
      )
    ),
    TE.chainW(() =>
      writeTensors(batch, [
        { name: 'input', type: 'F32', shape, data: input },
        { name: 'target', type: 'I64', shape: [1], data: BigInt64Array.of(BigInt(seed % classes)) }
      ])
    ),
    TE.bimap(
      ({ message }) => refusal(message),
      () => ({ size, seed, weights, batch, folder })
    )
  )
}

/** Values by name. */
export type Gradients = ReadonlyMap<string, Float64Array>

const readGradients = (path: string): TE.TaskEither<Refusal, Gradients> =>
  pipe(
    openTensorFile(path),
    TE.chain((file) =>
      pipe(
        [...file.tensors].filter(([name]) => name.startsWith('grad.')),
        TE.traverseSeqArray(([name, { shape }]) => {
          const values = new Float64Array(product(shape))
          return pipe(
            readTensor(file, name, values),
            TE.map(() => [name, values] as const)
          )
        })
      )
    ),
    TE.bimap(
      ({ message }) => refusal(message),
      (entries) => new Map(entries)
    )
  )

/** The error of what was computed. */
export const errorOf =
  (exact: Gradients) =>
  (found: Gradients): Error64 => {
    let [difference, length] = [0, 0]
    for (const [name, reference] of exact) {
      const values = found.get(name)
      if (values === undefined) return E.left(refusal(`${name} was not computed`))
      reference.forEach((value, index) => {
        difference += (values[index]! - value) ** 2
        length += value ** 2
      })
    }
    const error = Math.sqrt(difference / length)
    return Number.isFinite(error) ? E.right(error) : E.left(refusal('some gradient is infinite or no number'))
  }

const Loss = t.type({ loss: t.number })

type ReferencePrecision = CheckPrecision | 'float64'

/** Gradients that a run leaves in a file of its own. */
const from = (
  { folder, size, seed }: Case,
  run: (out: string) => Promise<E.Either<Refusal, unknown>>,
  ...names: readonly string[]
): TE.TaskEither<Refusal, Gradients> => {
  const out = join(folder, [...names, size, seed].join('-'))
  return pipe(
    () => run(out),
    TE.chain(() => readGradients(out)),
    TE.chainFirstIOK(() => () => rmSync(out, { force: true }))
  )
}

const byTilefold = (
  one: Case,
  net: keyof typeof nets,
  device: string,
  precision: ReferencePrecision,
  seconds: number
): TE.TaskEither<Refusal, Gradients> => {
  const setup = ['--classes', `${classes}`, '--device', device, '--precision', precision, '--weights', one.weights, '--batch', one.batch]
  return from(one, (out) => tilefold(Loss, ['gradients', nets[net](one.size), ...setup, '--out', out], seconds), net, device, precision)
}

const byPytorch = (
  pytorch: E.Either<Refusal, Pytorch>,
  one: Case,
  precision: ReferencePrecision,
  seconds: number
): TE.TaskEither<Refusal, Gradients> => {
  const request = { kind: 'gradients', weights: one.weights, batch: one.batch, precision }
  return pipe(
    TE.fromEither(pytorch),
    TE.chain(({ ask }) => from(one, (out) => ask(Loss, { ...request, out }, seconds), 'pytorch', precision))
  )
}

/** Gradients of one case by all sides, held against float64. */
const compare = async (
  check: Check,
  one: Case,
  exactBy: 'reference' | 'PyTorch',
  pytorch: E.Either<Refusal, Pytorch>,
  { program, request }: Readonly<Record<'program' | 'request', Lanes>>,
  deadline: Deadline
): Promise<readonly Parity[]> => {
  const seconds = (): number => deadline.atMost(check.scale.mostSeconds)
  const exact = await (exactBy === 'reference'
    ? program(() => byTilefold(one, 'whole', 'reference', 'float64', seconds())())
    : request(() => byPytorch(pytorch, one, 'float64', seconds())()))
  const error = async (found: () => TE.TaskEither<Refusal, Gradients>): Promise<Error64> => {
    if (E.isLeft(exact))
      return E.left(refusal(`there is nothing in float64 to compare with: ${exact.left.message}`, exact.left.outOfMemory))
    return deadline.isOver() ? E.left(timeIsUp) : E.chain(errorOf(exact.right))(await found()())
  }
  return Promise.all(
    check.precisions.map(async (precision): Promise<Parity> => {
      const ours = (net: keyof typeof nets) => program(() => error(() => byTilefold(one, net, check.device, precision, seconds())))
      const [whole, tiled, theirs] = await Promise.all([
        ours('whole'),
        ours('tiled'),
        request(() => error(() => byPytorch(pytorch, one, precision, seconds())))
      ])
      return { precision, size: one.size, seed: one.seed, exactBy, tilefold: { whole, tiled }, pytorch: theirs }
    })
  )
}

/**
 * VGG-16's gradients beside PyTorch's: several seeds at a size that the reference device computes,
 * and one larger image.
 */
export const runParity = async (check: Check, pytorch: E.Either<Refusal, Pytorch>, deadline: Deadline): Promise<readonly Parity[]> => {
  const { seeds, size, largeSize } = check.scale.parity
  const folder = mkdtempSync(join(tmpdir(), 'tilefold-parity-'))
  const cases = [
    ...Array.from({ length: seeds }, (_, index) => ({ size, seed: index + 1, exactBy: 'reference' as const })),
    ...(E.isRight(pytorch) ? [{ size: largeSize, seed: 1, exactBy: 'PyTorch' as const }] : [])
  ]
  try {
    const turns = { program: lanes(untimedAtOnce), request: lanes(1) }
    const compared: Promise<readonly Parity[]>[] = []
    for (const { size: extent, seed, exactBy } of cases) {
      const written = await writeCase(folder, extent, seed)()
      if (E.isLeft(written)) throw new Error(written.left.message)
      // While the next case is drawn, this one runs.
      compared.push(compare(check, written.right, exactBy, pytorch, turns, deadline))
    }
    return (await Promise.all(compared)).flat()
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
