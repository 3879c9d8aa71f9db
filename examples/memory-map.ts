/**
 * Draws the memory of a training step as it is planned, every buffer at its address over the time
 * that it lives: plain training beside the same step in a budget. What it prints is
 * docs/memory-map.svg:
 *
 *     npx ts-node examples/memory-map.ts > docs/memory-map.svg
 */
import * as E from 'fp-ts/Either'
import model from './own-model'
import { deviceModel } from '../native'
import { stage, type DeviceModel, type Instruction, type Program, type StageRequest } from '../staging'

const budget = 512 * 2 ** 20

/** A buffer while it holds one value: milliseconds from the step's begin, bytes of the arena. */
interface LiveInterval {
  readonly role: Program['buffers'][number]['role']
  readonly from: number
  readonly to: number
  readonly offset: number
  readonly bytes: number
}

const must = <A>(result: E.Either<{ readonly message: string }, A>): A => {
  if (E.isRight(result)) return result.right
  process.stderr.write(`${result.left.message}\n`)
  process.exit(2)
}

const buffersOf = (one: Instruction): readonly number[] =>
  one.kind === 'launch'
    ? one.operands.flatMap(({ space, buffer }) => (space === 'arena' && buffer !== undefined ? [buffer] : []))
    : one.kind === 'copy' && one.device.buffer !== undefined
      ? [one.device.buffer]
      : []

type Loops = readonly Instruction[]

/** By buffer, the loops around all that uses it: it has a new value in each of their rounds. */
const loopsOf = (code: readonly Instruction[]): ReadonlyMap<number, Loops> => {
  const found = new Map<number, Loops>()
  const walk = (part: readonly Instruction[], around: Loops): void =>
    part.forEach((one) => {
      if (one.kind === 'loop') walk(one.body, [...around, one])
      for (const buffer of buffersOf(one)) {
        const before = found.get(buffer) ?? around
        const differs = before.findIndex((loop, depth) => loop !== around[depth])
        found.set(buffer, differs === -1 ? before : before.slice(0, differs))
      }
    })
  walk(code, [])
  return found
}

const staysOf = (
  { step, kernels, buffers }: Program,
  device: DeviceModel
): { readonly intervals: readonly LiveInterval[]; readonly milliseconds: number } => {
  const loops = loopsOf(step.code)
  const spans = new Map<string, { readonly buffer: number; readonly from: number; to: number }>()
  let now = 0
  const walk = (code: readonly Instruction[], rounds: readonly number[]): void =>
    code.forEach((one) => {
      if (one.kind === 'loop') for (let round = 0; round < one.count; round++) walk(one.body, [...rounds, round])
      const began = now
      if (one.kind === 'launch' && one.engine === undefined) now += device.milliseconds(kernels[one.kernel]!)
      for (const buffer of buffersOf(one)) {
        const key = [buffer, ...rounds.slice(0, loops.get(buffer)!.length)].join()
        const span = spans.get(key)
        if (span === undefined) spans.set(key, { buffer, from: began, to: now })
        else span.to = now
      }
    })
  walk(step.code, [])
  const intervals = [...spans.values()].map(({ buffer, from, to }): LiveInterval => {
    const { role, offset, bytes } = buffers[buffer]!
    return role === 'persistent' ? { role, from: 0, to: now, offset, bytes } : { role, from, to, offset, bytes }
  })
  return { intervals, milliseconds: now }
}

const colours = {
  persistent: ['#6b7280', 'weights, gradients, optimizer state'],
  boundary: ['#2563eb', 'kept between segments'],
  'output-gradient': ['#dc2626', 'gradients between segments'],
  local: ['#60a5fa', 'inside a segment: of whole layers, or of one tile'],
  statistics: ['#059669', ''],
  unwanted: ['#d1d5db', '']
} as const satisfies { readonly [R in LiveInterval['role']]: readonly [string, string] }

const [width, height, left, top, bottom] = [960, 400, 70, 48, 70]
const gap = 40
const panel = (width - left - gap - 20) / 2

const mebibytes = (bytes: number): string => `${(bytes / 2 ** 20).toFixed(0)} MiB`

const draw = (request: StageRequest): string => {
  const panels = [
    { title: 'plain', within: { strategy: 'plain' } },
    { title: `budget ${mebibytes(budget)}`, within: { strategy: 'auto', budget: { bytes: budget } } }
  ] as const
  const drawn = panels.map(({ title, within }) => {
    const { predicted, program } = must(stage({ ...request, ...within }))
    return { title, peak: predicted.peakDeviceBytes, ...staysOf(program, request.device) }
  })
  const [bytes, milliseconds] = [Math.max(...drawn.map(({ peak }) => peak)), Math.max(...drawn.map((one) => one.milliseconds))]
  const y = (offset: number): number => top + height * (1 - offset / bytes)
  const number = (value: number): string => value.toFixed(1)
  const rectangles = drawn.map(({ intervals, title, peak, milliseconds: took }, index) => {
    const origin = left + index * (panel + gap)
    const x = (time: number): number => origin + (panel * time) / milliseconds
    const all = intervals.map(
      ({ role, from, to, offset, bytes: size }) =>
        `<rect x="${number(x(from))}" y="${number(y(offset + size))}" width="${number(Math.max(0.4, x(to) - x(from)))}" height="${number(Math.max(0.4, y(offset) - y(offset + size)))}" fill="${colours[role][0]}"/>`
    )
    return [
      `<text x="${origin}" y="${top - 24}" class="title">${title}: ${mebibytes(peak)}, ${(took / 1000).toFixed(1)} s of kernels</text>`,
      `<g stroke="#fff" stroke-width="0.3">${all.join('')}</g>`,
      `<path d="M${origin} ${top}V${top + height}H${origin + panel}" class="axis"/>`,
      `<text x="${origin + panel}" y="${top + height + 16}" text-anchor="end">time of a step, 0 to ${(milliseconds / 1000).toFixed(1)} s</text>`
    ].join('\n')
  })
  const ticks = Array.from({ length: Math.floor(bytes / budget) + 1 }, (_, index) => index * budget).map(
    (offset) => `<text x="${left - 6}" y="${number(y(offset) + 4)}" text-anchor="end">${mebibytes(offset)}</text>`
  )
  const shown = Object.values(colours).filter(([, words]) => words !== '')
  const legend = shown.map(([colour, words], index) => {
    const at = shown.slice(0, index).reduce((sum, [, before]) => sum + 44 + 5.8 * before.length, left)
    return `<rect x="${number(at)}" y="${top + height + 34}" width="12" height="12" fill="${colour}"/><text x="${number(at + 18)}" y="${top + height + 44}">${words}</text>`
  })
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${top + height + bottom}" font-family="sans-serif" font-size="11">`,
    '<style>.title{font-size:14px;font-weight:bold}.axis{fill:none;stroke:#374151}</style>',
    `<rect width="${width}" height="${top + height + bottom}" fill="#fff"/>`,
    ...ticks,
    ...rectangles,
    ...legend,
    '</svg>'
  ].join('\n')
}

process.stdout.write(
  `${draw({
    model,
    strategy: 'plain',
    device: must(deviceModel('cpu', 'float32', 2)),
    objective: { kind: 'train', optimizer: { kind: 'sgd', momentum: 0.9, weightDecay: 0 } },
    source: { kind: 'image', mean: [0, 0, 0], deviation: [1, 1, 1] }
  })}\n`
)
