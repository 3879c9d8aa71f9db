import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import { type Failure, type Outcome, collectFailures, inputFailure } from '../../failure'
import type { Cells } from '../../datasets/cells'
import { ignoredLabel } from '../../datasets/class-list'
import { type Dataset, type Example, labelKind, largestLabel } from '../../datasets/dataset'
import { isMask } from '../../datasets/labels'
import { findMarkedCells, findMaskCells } from '../../datasets/mask-cells'
import type { Mask } from '../../datasets/masks/masks'
import { finest } from '../../images/resolution'
import type { Reading } from '../../images/samples'
import { findTissue } from '../../datasets/tissue'
import type { OnUnread } from '../../images/unread'
import { inParallel } from '../../tasks/in-parallel'

/** Where crops of a training lie, and which images they are of. */
export interface CropRules {
  /** Their middles are in tissue. */
  readonly tissue: boolean
  /** Their middles are where pixels of their mask count. */
  readonly annotated: boolean
  /** Each class is drawn as often: of images, or in masks the crops' middles. */
  readonly balanced: boolean
}

/** Where crops may lie: anywhere where nothing is said of an image. */
export interface CropRegions {
  readonly cellsOf: (example: Example, inClass: number | undefined) => Cells | undefined
  /** Examples of each class, where classes are balanced. */
  readonly byClass?: readonly (readonly number[])[]
  /** Cells that hold something, of all; where tissue was looked for. */
  readonly tissueShare?: number
  /** Parts of images that could not be read when it was looked for; absent where there are none. */
  readonly unreadParts?: number
}

/** Values in a mask that count. */
const countedValues = ({ counts }: Mask): readonly number[] =>
  counts.flatMap((count, value) => (count > 0 && value !== ignoredLabel ? [value] : []))

const isIn = ({ label }: Example, wanted: number): boolean => {
  if (typeof label === 'number') return label === wanted
  if (isMask(label)) return label.counts[wanted]! > 0
  return 'classes' in label && label.classes.includes(wanted)
}

const groupByClass = ({ examples }: Dataset, classes: number): readonly (readonly number[])[] =>
  Array.from({ length: classes }, (_, wanted) => examples.flatMap((example, index) => (isIn(example, wanted) ? [index] : [])))

/** Refuses rules that say nothing of such data, or contradict each other. */
const checkRules = ({ tissue, annotated, balanced }: CropRules, training: Dataset): E.Either<Failure, void> => {
  const kind = labelKind(training)
  const fail = (sentence: string): E.Either<Failure, never> => E.left(inputFailure(sentence))
  if (annotated && kind !== 'mask') return fail('--annotated is for data with masks, which --data has not: leave it out')
  const hasTissue = training.examples.some((example) => example.tissue !== undefined)
  if ((tissue || hasTissue) && (annotated || (balanced && kind === 'mask')))
    return fail(
      `${tissue ? '--tissue' : 'the column tissue'} and --${annotated ? 'annotated' : 'balanced'} both say where crops of masks lie: give one of them`
    )
  if (balanced && kind === 'values') return fail('--balanced is for data with classes, which --data has not: leave it out')
  if (balanced && training.examples.every(({ label }) => largestLabel(label) < 0))
    return fail('--balanced: no training image has a class: leave it out, or label some')
  const empty = annotated ? training.examples.find(({ label }) => largestLabel(label) < 0) : undefined
  return empty === undefined
    ? E.right(undefined)
    : fail(`${empty.origin}: --annotated finds no pixel that counts in the mask of ${empty.path}: leave the row out, or label some`)
}

/** Images are looked at whole: more at once would only take more memory. */
const seenAtOnce = 2

/** What is found for each path. */
const findEach = <A>(
  paths: readonly string[],
  find: (path: string) => Outcome<A>,
  signal: AbortSignal | undefined
): Outcome<ReadonlyMap<string, A>> => {
  const distinct = [...new Set(paths)]
  return pipe(
    inParallel(distinct, (path) => find(path)(), signal, seenAtOnce),
    TE.chainEitherK(collectFailures),
    TE.map((found) => new Map(found.map((one, index) => [distinct[index]!, one])))
  )
}

/** Of images that have a mask of it, and of the others where tissue is asked for. */
const inTissue = (
  { examples }: Dataset,
  tissue: boolean,
  reading: Reading,
  { signal, onUnread }: Watching
): Outcome<Omit<CropRegions, 'byClass'>> => {
  const keyOf = (example: Example): string => `${example.path}\n${example.tissue ?? ''}`
  const wanted = new Map(examples.flatMap((one) => (tissue || one.tissue !== undefined ? [[keyOf(one), one] as const] : [])))
  let unreadParts = 0
  const count: OnUnread = (failure, path) => {
    unreadParts += 1
    onUnread!(failure, path)
  }
  const find = (key: string): Outcome<Cells | undefined> => {
    const { path, origin, tissue: mask } = wanted.get(key)!
    return mask === undefined
      ? findTissue(path, reading, onUnread && count)
      : TE.mapLeft((failure: Failure) => ({ ...failure, message: `${origin}: ${failure.message}` }))(findMarkedCells(mask, path))
  }
  return pipe(
    findEach([...wanted.keys()], find, signal),
    TE.map((found) => {
      const all = [...found.values()].filter((cells) => cells !== undefined)
      const sumOf = (value: (cells: Cells) => number): number => all.reduce((sum, cells) => sum + value(cells), 0)
      return {
        cellsOf: (example) => found.get(keyOf(example)),
        ...(tissue
          ? {
              tissueShare:
                sumOf(({ numbers }) => numbers.length) /
                Math.max(
                  1,
                  sumOf(({ grid }) => grid.rows * grid.columns)
                )
            }
          : {}),
        ...(unreadParts > 0 ? { unreadParts } : {})
      }
    })
  )
}

const inMasks = (
  { examples }: Dataset,
  classes: readonly number[] | undefined,
  signal: AbortSignal | undefined
): Outcome<Pick<CropRegions, 'cellsOf'>> => {
  const groupsOf = (mask: Mask): readonly (readonly number[])[] => classes?.map((value) => [value]) ?? [countedValues(mask)]
  const masks = new Map<string, Mask>(examples.flatMap(({ label }) => (isMask(label) ? [[label.path, label] as const] : [])))
  return pipe(
    findEach([...masks.keys()], (path) => findMaskCells(masks.get(path)!, groupsOf(masks.get(path)!)), signal),
    TE.map((found) => ({
      cellsOf: ({ label }, inClass) => (isMask(label) ? found.get(label.path)?.[classes === undefined ? 0 : (inClass ?? 0)] : undefined)
    }))
  )
}

interface Watching {
  readonly signal?: AbortSignal | undefined
  /** Told of what `tissue` finds unreadable in images, where that ends nothing. */
  readonly onUnread?: OnUnread | undefined
}

/** Looks at all training images, or their masks, where the rules ask for it. */
export const findCropRegions = (
  rules: CropRules,
  training: Dataset,
  classes: number,
  reading: Reading = finest,
  watching: Watching = {}
): Outcome<CropRegions> => {
  const byClass = rules.balanced ? { byClass: groupByClass(training, classes) } : {}
  const wanted = rules.balanced ? Array.from({ length: classes }, (_, value) => value) : undefined
  const isMasked = labelKind(training) === 'mask' && (rules.balanced || rules.annotated)
  return pipe(
    TE.fromEither(checkRules(rules, training)),
    TE.chain(() => (isMasked ? inMasks(training, wanted, watching.signal) : inTissue(training, rules.tissue, reading, watching))),
    TE.map((found) => ({ ...found, ...byClass }))
  )
}
