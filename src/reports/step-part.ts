import type { BufferSpan, EngineSpan, PredictedPlan, Program, StepTimeline } from '../../staging'
import { engines, programEngines } from '../../staging/program/program'
import { bufferKinds } from '../../staging/program/program-buffer'
import { type JoinedSpans, joinSpans } from './join-spans'
import type { LiveBytes, StepPart } from './report'

/** Texts that are written once, by their places. */
const textTable = () => {
  const places = new Map<string, number>()
  return {
    place: (text: string): number => {
      const known = places.get(text)
      if (known !== undefined) return known
      places.set(text, places.size)
      return places.size - 1
    },
    texts: (): readonly string[] => [...places.keys()]
  }
}

/** Points of a curve of live bytes; where there are more, each keeps the most of several. */
const maxPoints = 4000

const thinOut = ({ time, bytes }: LiveBytes, most: number): LiveBytes => {
  const each = Math.ceil(time.length / most)
  if (each <= 1) return { time, bytes }
  const groups = Array.from({ length: Math.ceil(time.length / each) }, (_, group) => group * each)
  return { time: groups.map((at) => time[at]!), bytes: groups.map((at) => Math.max(...bytes.slice(at, at + each))) }
}

/** Bytes that are live from time to time, in at most so many points. */
export const sampleLiveBytes = (buffers: Program['buffers'], lifetimes: readonly BufferSpan[], most = maxPoints): LiveBytes => {
  const changes = new Map<number, number>()
  const change = (time: number, bytes: number): void => void changes.set(time, (changes.get(time) ?? 0) + bytes)
  for (const { buffer, from, to } of lifetimes) {
    change(from, buffers[buffer]!.bytes)
    change(to, -buffers[buffer]!.bytes)
  }
  const time = [...changes.keys()].sort((a, b) => a - b)
  let live = 0
  return thinOut({ time, bytes: time.map((one) => (live += changes.get(one)!)) }, most)
}

/** Spans, and lifetimes, that a page draws. */
const maxSpans = 20_000

const latestEnd = (spans: readonly { readonly to: number }[]): number => spans.reduce((last, { to }) => Math.max(last, to), 0)

const drawnLifetimes = (lifetimes: readonly BufferSpan[]): JoinedSpans<BufferSpan> =>
  joinSpans(
    lifetimes,
    maxSpans,
    ({ buffer }) => buffer,
    (near) => ({ ...near[0], to: latestEnd(near) })
  )

/** What takes the most of their time. */
const mostly = (spans: readonly EngineSpan[]): string => {
  const times = new Map<string, number>()
  for (const { what, from, to } of spans) times.set(what, (times.get(what) ?? 0) + to - from)
  const [[most]] = [...times].sort(([, a], [, b]) => b - a) as [[string, number]]
  return times.size === 1 ? most : `${most} and others`
}

const drawnSpans = (spans: readonly EngineSpan[]): JoinedSpans<EngineSpan> =>
  joinSpans(
    spans,
    maxSpans,
    ({ engine }) => engines.indexOf(engine),
    (near) => ({
      ...{ engine: near[0].engine, from: near[0].from, to: latestEnd(near), what: mostly(near) },
      times: near.reduce((sum, { times }) => sum + times, 0)
    })
  )

const byColumns = (spans: readonly BufferSpan[]): StepPart['lifetimes'] => ({
  buffer: spans.map(({ buffer }) => buffer),
  from: spans.map(({ from }) => from),
  to: spans.map(({ to }) => to)
})

/** A step as pages draw it, from its timeline, beside what strategy plain has in memory. */
export const stepPart = (
  program: Program,
  { predicted, budget }: Pick<PredictedPlan, 'predicted' | 'budget'>,
  timeline: StepTimeline,
  plainLive: LiveBytes | undefined
): StepPart => {
  const { place, texts } = textTable()
  const { buffers, hostBuffers } = program
  const { nanoseconds, lifetimes, hostLifetimes } = timeline
  const [{ spans, width }, drawn] = [drawnSpans(timeline.spans), drawnLifetimes(lifetimes)]
  const spanText = ({ what, buffer }: EngineSpan): string => (buffer === undefined ? what : `${what}: ${buffers[buffer]!.name}`)
  return {
    nanoseconds,
    joinedNanoseconds: Math.max(width, drawn.width),
    addressBytes: program.pages?.addressBytes ?? program.peakBytes,
    peakBytes: program.peakBytes,
    budgetBytes: budget ?? null,
    plainPeakBytes: predicted.plainPeakBytes,
    engines: programEngines(program),
    kinds: bufferKinds,
    buffers: {
      name: buffers.map(({ name }) => place(name)),
      layer: buffers.map(({ layer }) => (layer === undefined ? -1 : place(layer))),
      kind: buffers.map(({ kind }) => bufferKinds.indexOf(kind)),
      offset: buffers.map(({ offset }) => offset),
      bytes: buffers.map(({ bytes }) => bytes)
    },
    lifetimes: byColumns(drawn.spans),
    spans: {
      engine: spans.map(({ engine }) => engines.indexOf(engine)),
      from: spans.map(({ from }) => from),
      to: spans.map(({ to }) => to),
      text: spans.map((span) => place(spanText(span))),
      times: spans.map(({ times }) => times)
    },
    live: sampleLiveBytes(buffers, lifetimes),
    plainLive: plainLive ?? null,
    hostLive: sampleLiveBytes(hostBuffers, hostLifetimes),
    texts: texts()
  }
}
