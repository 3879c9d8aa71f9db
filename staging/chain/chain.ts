import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import * as t from 'io-ts'
import { decodeAs } from '../decoding/decode'

const largest = 1e15
const maxStages = 10_000
const bytes = t.refinement(
  t.number,
  (value) => Number.isInteger(value) && value >= 0 && value <= largest,
  `a whole number of bytes from 0 to ${largest}`
)
const milliseconds = t.refinement(t.number, (value) => value >= 0 && value <= largest, `a number of milliseconds from 0 to ${largest}`)
const bytesPerSecond = t.refinement(t.number, (value) => value >= 1 && value <= largest, `a number of bytes a second from 1 to ${largest}`)

/**
 * A stage i of a chain, F_i and B_i, in the symbols of Beaumont et al., "Optimal GPU-CPU offloading
 * strategies for deep neural network training" (Euro-Par 2020), section 3.1. F_i reads the
 * activation x_i and writes x_(i+1); B_i reads x_i, x_(i+1) and the gradient y_(i+1), and writes
 * y_i. Times in milliseconds, sizes in bytes.
 */
const stage = t.readonly(
  t.type({
    name: t.string,
    u_F: milliseconds,
    u_B: milliseconds,
    x: bytes,
    y: bytes,
    /** Memory beside inputs and output while F_i runs. */
    ex_F: bytes,
    /** Bytes of workspace of the backward operation B_i, as ex_F of the forward one. */
    ex_B: bytes
  })
)

const chain = t.type({
  name: t.string,
  stages: t.readonlyArray(stage),
  /** Bytes of the last stage's output, and of the gradient that its backward reads. */
  output: t.readonly(t.type({ x: bytes, y: bytes })),
  /**
   * Bandwidth of the link between device and host in bytes a second, either way, one transfer at a
   * time.
   */
  beta: bytesPerSecond
})

/** One stage of a chain: milliseconds, and bytes of activations and workspaces. */
export type Stage = t.TypeOf<typeof stage>
/** A network as a chain of stages, each of which reads the output of the one before. */
export type Chain = Readonly<t.TypeOf<typeof chain>>

/**
 * A chain from what JSON holds, or words on the first place that is wrong: "stages[2].u_F is -1,
 * not a number of milliseconds ...".
 */
export const decodeChain = (value: unknown): E.Either<string, Chain> =>
  pipe(
    decodeAs('chain', chain)(value),
    E.filterOrElse(
      ({ stages }) => stages.length > 0,
      () => 'stages is empty, where a chain has at least one'
    ),
    E.filterOrElse(
      ({ stages }) => stages.length <= maxStages,
      ({ stages }) => `it has ${stages.length} stages, where a chain has at most ${maxStages}`
    ),
    E.filterOrElse(
      ({ stages }) => stages.some(({ u_F, u_B }) => u_F + u_B > 0),
      () => 'stages take no time: u_F and u_B of all are 0, where at least one is above'
    )
  )

/** |x_i| of i = 0 ... L + 1: the stages' inputs, then the last one's output. */
export const activationBytes = ({ stages, output }: Chain): readonly number[] => [...stages.map(({ x }) => x), output.x]

/** |y_i| of i = 0 ... L + 1. */
export const gradientBytes = ({ stages, output }: Chain): readonly number[] => [...stages.map(({ y }) => y), output.y]
