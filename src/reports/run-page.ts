import { basename } from 'node:path'
import { ignoredLabel } from '../datasets/class-list'
import type { SeenCrop } from '../images/seen-crop'
import type { Planned } from '../plans/plan-network'
import { palette } from '../results/colours'
import { formatBytes, formatMilliseconds } from '../text/format'
import { planPage } from './plan-page'
import type { CropPart, LineChart, Report } from './report'

/** What steps that ran were like, each an update of the weights. */
export interface RanSteps {
  readonly stepMs: readonly number[]
  /** Bytes of the device's memory that were touched. */
  readonly peakDeviceBytes: number
  /** Images of an update; pixels that it reads count once. */
  readonly images: number
  /** How they ended, in words; absent while they run. */
  readonly ended?: string | undefined
  /** Names of the classes of crops, where they have some. */
  readonly classNames?: readonly string[] | undefined
  /** Crops of each step and after each validation; absent where nothing is learned. */
  readonly crops?: readonly SeenCrop[]
  readonly learned?: {
    readonly loss: readonly number[]
    /** Null where it is not known. */
    readonly learningRate: readonly (number | null)[]
    readonly validations: readonly {
      readonly step: number
      readonly loss: number
      readonly accuracy?: number
      readonly f1?: number | null
      readonly mae?: number | null
      readonly r2?: number | null
      readonly iou?: number | null
      readonly auc?: number | null
      readonly dice?: number | null
      readonly kappa?: number | null
    }[]
  }
}

const base64 = (bytes: Uint8Array | undefined): string | null => (bytes === undefined ? null : Buffer.from(bytes).toString('base64'))

const cropPart =
  (names: readonly string[]) =>
  ({ name, height, width, rgb, target, predicted, text = '', predictedClass = 0, heatMap }: SeenCrop): CropPart => ({
    ...{ name: basename(name), height, width, rgb: base64(rgb) ?? '', target: base64(target), predicted: base64(predicted) },
    text,
    heatMap:
      heatMap === undefined ? null : { rgb: base64(heatMap)!, text: `what speaks for class ${names[predictedClass] ?? predictedClass}` }
  })

/** The classes that pixels of crops have, as predictions write them. */
const classesOfPixels = (crops: readonly SeenCrop[], names: readonly string[]): Report['classes'] =>
  [...new Set(crops.flatMap(({ target = [], predicted = [] }) => [...target, ...predicted]))]
    .sort((a, b) => a - b)
    .map((label) => ({
      ...{ label, colour: palette[label]! },
      name: label === ignoredLabel ? 'does not count' : (names[label] ?? `class ${label}`)
    }))

type Line = LineChart['lines'][number]

const line = (name: string, points: readonly (readonly [number, number])[], isPredicted = false): readonly Line[] =>
  points.length === 0 ? [] : [{ name, x: points.map(([x]) => x), y: points.map(([, y]) => y), isPredicted }]

/** A chart of the lines that there are; none where there is no line. */
const chart = (title: string, unit: string, lines: readonly Line[], isLogarithmic = false): readonly LineChart[] =>
  lines.length === 0 ? [] : [{ title, unit, lines, isLogarithmic }]

/** A chart of losses; those that diverge differ by so much that others would be seen as none. */
const lossChart = (lines: readonly Line[]): readonly LineChart[] => {
  const values = lines.flatMap(({ y }) => y)
  const least = values.reduce((least, one) => Math.min(least, one), Infinity)
  const most = values.reduce((most, one) => Math.max(most, one), 0)
  return least > 0 && most > 1e3 * least ? chart('Loss, logarithmic', '', lines, true) : chart('Loss', '', lines)
}

/** Points that JSON can hold; a loss that is not finite is a gap. */
const finite = (points: readonly (readonly [number, number])[]): readonly (readonly [number, number])[] =>
  points.filter(([, y]) => Number.isFinite(y))

/** Most points of a line over steps; where there are more, each is the mean of several. */
const maxPoints = 4000

/** Values of steps from 1 on. */
const overSteps = (values: readonly number[]): readonly (readonly [number, number])[] => {
  const each = Math.ceil(values.length / maxPoints)
  const starts = Array.from({ length: Math.ceil(values.length / Math.max(1, each)) }, (_, group) => group * each)
  return finite(
    starts.map((start) => {
      const group = values.slice(start, start + each)
      return [start + group.length, group.reduce((sum, value) => sum + value, 0) / group.length]
    })
  )
}

const learnedCharts = ({ loss, learningRate, validations }: NonNullable<RanSteps['learned']>): readonly LineChart[] => {
  const measure = (name: string, of: 'loss' | 'accuracy' | 'iou' | 'dice' | 'auc' | 'kappa' | 'f1' | 'mae' | 'r2'): readonly Line[] =>
    line(name, finite(validations.flatMap((one) => (one[of] === undefined || one[of] === null ? [] : [[one.step, one[of]] as const]))))
  return [
    ...lossChart([...line('training', overSteps(loss)), ...measure('validation', 'loss')]),
    ...chart('Validation', '', [
      ...measure('accuracy', 'accuracy'),
      ...measure('AUC', 'auc'),
      ...measure('IoU', 'iou'),
      ...measure('Dice', 'dice'),
      ...measure('kappa', 'kappa'),
      ...measure('F1', 'f1'),
      ...measure('R²', 'r2')
    ]),
    ...chart('Error', '', measure('mean absolute error', 'mae')),
    ...chart('Learning rate', '', line('learning rate', overSteps(learningRate.map((rate) => rate ?? NaN))))
  ]
}

const median = (values: readonly number[]): number => [...values].sort((a, b) => a - b)[values.length >> 1] ?? 0

/** The page of a run, on that of its plan: what was measured beside what was predicted. */
export const runPage = (
  planned: Planned,
  what: string,
  { stepMs, peakDeviceBytes, images, learned, ended, classNames = [], crops = [] }: RanSteps,
  page: Report = planPage(planned)
): Report => {
  const { stepMilliseconds: predicted, peakDeviceBytes: predictedPeak } = planned.staged.predicted
  const ends = [...new Set([1, stepMs.length])].filter((step) => step <= stepMs.length)
  const across = (value: number): readonly (readonly [number, number])[] => ends.map((step) => [step, value])
  return {
    ...page,
    title: `${planned.staged.graph.model}: ${what}`,
    facts: [
      ...(ended === undefined ? [] : [{ name: 'ended', text: ended }]),
      { name: 'steps', text: `${stepMs.length}` },
      { name: 'measured step, median', text: `${formatMilliseconds(median(stepMs))}; predicted ${formatMilliseconds(predicted)}` },
      { name: 'measured peak', text: `${formatBytes(peakDeviceBytes)}; predicted ${formatBytes(predictedPeak)}` },
      ...page.facts
    ],
    crops: crops.map(cropPart(classNames)),
    classes: classesOfPixels(crops, classNames),
    charts: [
      ...(learned === undefined ? [] : learnedCharts(learned)),
      ...chart('Time of a step', 'ms', [...line('measured', overSteps(stepMs)), ...line('predicted', across(predicted), true)]),
      ...chart('Peak memory of the device', 'bytes', [
        ...line('measured', across(peakDeviceBytes)),
        ...line('predicted', across(predictedPeak), true)
      ]),
      ...chart('Throughput', 'images/s', [
        ...line('measured', overSteps(stepMs.map((milliseconds) => (1e3 * images) / milliseconds))),
        ...line('predicted', across((1e3 * images) / predicted), true)
      ])
    ]
  }
}
