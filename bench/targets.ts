/**
 * The steps that are asked for on a processor with AVX-512 BF16, at two threads: each at most this
 * share of PyTorch eager's in channels_last and float32.
 */
import { table } from '../src/text/table'
import type { Comparison, Memory, Precision } from './comparison'
import { tilefoldName } from './comparison'

/** A network's step, and what is asked of it. */
interface Target {
  readonly model: string
  readonly size: number
  readonly batch: number
  /** Of PyTorch's in float32, whatever the precision. */
  readonly ofPytorch: { readonly [P in Precision]: number }
  /** Of the machine's own limit: what suffices too. */
  readonly ofLimit?: number
}

export const targets: readonly Target[] = [
  { model: 'resnet50', size: 512, batch: 1, ofPytorch: { float32: 0.55, bf16: 0.4 } },
  { model: 'densenet121', size: 512, batch: 1, ofPytorch: { float32: 0.5, bf16: 0.38 } },
  { model: 'deeplabv3_resnet50', size: 512, batch: 2, ofPytorch: { float32: 0.5, bf16: 0.35 } },
  { model: 'unet', size: 1024, batch: 1, ofPytorch: { float32: 0.4, bf16: 0.3 } },
  { model: 'vgg16', size: 1024, batch: 1, ofPytorch: { float32: 0.27, bf16: 0.22 }, ofLimit: 1.15 }
]

/** Of PyTorch's autocast in bf16, of each step in bf16. */
const ofAutocast = 0.85

/** How much more a step in less memory may take. */
const inLessMemory = 1.35

/** What is asked of one step, and what was seen; null where there is nothing to compare with. */
export interface TargetLine {
  readonly model: string
  readonly threads: number
  readonly precision: Precision
  readonly memory: Memory
  readonly medianMs: number
  readonly ofPytorch: { readonly asked: number; readonly seen: number | null }
  readonly ofAutocast: { readonly asked: number; readonly seen: number | null } | null
  readonly ofLimit: { readonly asked: number | null; readonly seen: number | null }
  /** Null where something that decides was not seen, and in half of the memory. */
  readonly met: boolean | null
}

interface Asked {
  readonly asked: number | null
  readonly seen: number | null
}

const holds = ({ asked, seen }: Asked): boolean | null => (asked === null || seen === null ? null : seen <= asked)

const precisions: readonly Precision[] = ['float32', 'bf16']
const memories: readonly Memory[] = ['plain', 'a fifth of plain', 'a third of plain', 'half of plain']

/** What is asked of the steps of a comparison, beside what was seen. */
export const targetLines = ({ model, threads, rows }: Comparison): readonly TargetLine[] => {
  const target = targets.find((one) => one.model === model)
  if (target === undefined) return []
  return precisions.flatMap((precision) =>
    memories.flatMap((memory): readonly TargetLine[] => {
      const row = rows.find(({ name }) => name === tilefoldName(memory, precision))
      if (row === undefined) return []
      const slack = memory === 'plain' ? 1 : inLessMemory
      const line = {
        ofPytorch: { asked: slack * target.ofPytorch[precision], seen: row.ofPytorch },
        ofAutocast: precision === 'bf16' ? { asked: slack * ofAutocast, seen: row.ofAutocast } : null,
        ofLimit: { asked: target.ofLimit === undefined ? null : slack * target.ofLimit, seen: row.ofLimit }
      }
      const [byPytorch, byLimit] = [holds(line.ofPytorch), holds(line.ofLimit)]
      const byEither = byLimit === true ? true : byPytorch
      const byAutocast = line.ofAutocast === null ? true : holds(line.ofAutocast)
      // A half answers nothing that is asked.
      const isAsked = memory !== 'half of plain'
      const met = !isAsked
        ? null
        : byEither === false || byAutocast === false
          ? false
          : byEither === null || byAutocast === null
            ? null
            : true
      return [{ model, threads, precision, memory, medianMs: row.medianMs, ...line, met }]
    })
  )
}

const figure = (ratio: number | null): string => ratio?.toFixed(2) ?? '-'

/** The lines as a table: each ratio that is asked beside the one that was seen. */
export const targetsText = (lines: readonly TargetLine[]): string =>
  table(
    ['', 'threads', 'precision', 'memory', 'step', 'of PyTorch', 'asked', 'of its bf16', 'asked', 'of limit', 'asked', 'met'],
    lines.map(({ model, threads, precision, memory, medianMs, met, ...line }) => [
      ...[model, `${threads}`, precision, memory, `${(medianMs / 1000).toFixed(3)} s`],
      ...[line.ofPytorch, line.ofAutocast, line.ofLimit].flatMap((one) => [figure(one?.seen ?? null), figure(one?.asked ?? null)]),
      met === null ? '-' : met ? 'yes' : 'no'
    ])
  )
