import { engines, type Engine, type Instruction, type Program } from '../program/program'
import { type BufferSpan, type StepTimeline, collectTimeline, wholeTimeline } from './timeline'

/** A section of a Program that ran to its end. */
export interface SectionRun {
  readonly section: 'step' | 'update'
  /** Number of the step, or of the update. */
  readonly number: number
  /**
   * By engine, compute, to-device and to-host: when each of its launches, copies and maps began and
   * ended, in turn, in nanoseconds of one clock for all runs.
   */
  readonly timestamps: readonly Float64Array[]
}

/** When a section ran, in nanoseconds from the start of the first. */
export interface SectionSpan extends Pick<SectionRun, 'section' | 'number'> {
  readonly from: number
  readonly to: number
}

const getEngine = (one: Exclude<Instruction, { readonly kind: 'loop' }>): Engine =>
  one.kind === 'launch' ? (one.engine ?? 'compute') : one.kind === 'map' || one.kind === 'unmap' ? 'compute' : one.engine

const sectionSpan = ({ timestamps }: SectionRun): readonly [from: number, to: number] => {
  const noted = timestamps.filter(({ length }) => length > 0)
  return [Math.min(...noted.map((times) => times[0]!)), Math.max(...noted.map((times) => times.at(-1)!))]
}

/** Tells of each instruction, in program order, when it ran: each engine notes its own in turn. */
const walk = (program: Program, { section, timestamps }: SectionRun, origin: number): Omit<StepTimeline, 'nanoseconds'> => {
  const code = program[section]?.code ?? []
  const { tile, span, take } = collectTimeline(program, code)
  const done = engines.map(() => 0)
  const run = (body: readonly Instruction[]): void => {
    for (const one of body)
      if (one.kind === 'loop')
        for (let index = 0; index < one.count; index += 1) {
          tile(one, index)
          run(one.body)
        }
      else if (one.kind !== 'record' && one.kind !== 'wait') {
        const engine = getEngine(one)
        const place = engines.indexOf(engine)
        const [from, to] = [timestamps[place]?.[done[place]!], timestamps[place]?.[done[place]! + 1]]
        done[place]! += 2
        if (from === undefined || to === undefined) throw new Error(`the ${engine} engine has noted too few of the ${section} section`)
        span(one, engine, from - origin, to - origin, 1)
      }
  }
  run(code)
  return take()
}

/**
 * When each engine did what while sections ran, one after the other, and when each buffer held
 * something: from what was noted as they ran.
 */
export const runTimeline = (
  program: Program,
  runs: readonly SectionRun[]
): { readonly timeline: StepTimeline; readonly sections: readonly SectionSpan[] } => {
  const noted = runs.filter(({ timestamps }) => timestamps.some(({ length }) => length > 0))
  const origin = Math.min(...noted.map((run) => sectionSpan(run)[0]))
  const sections = noted.map((run): SectionSpan => {
    const [from, to] = sectionSpan(run)
    return { section: run.section, number: run.number, from: from - origin, to: to - origin }
  })
  const parts = noted.map((run) => walk(program, run, origin))
  const all = (of: 'lifetimes' | 'hostLifetimes'): readonly BufferSpan[] => parts.flatMap((part) => part[of])
  const collected = { spans: parts.flatMap(({ spans }) => spans), lifetimes: all('lifetimes'), hostLifetimes: all('hostLifetimes') }
  return { timeline: wholeTimeline(program, Math.max(0, ...sections.map(({ to }) => to)), collected), sections }
}
