import { basename, dirname } from 'node:path'
import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import { type Dataset } from '../datasets/dataset'
import { isMask } from '../datasets/labels'
import { type Outcome, inputFailure } from '../failure'
import { type Claimed, findLocks } from '../files/write-locks'
import { type NamedPath, checkPaths, isInside, namedPaths } from '../files/paths'
import type { TrainOptions } from '../option-tables/train-options'
import { isStateName } from './state/state'
import type { Split } from './validation/validation-split'

type Files = Pick<TrainOptions, 'save' | 'best' | 'perImage' | 'metrics' | 'report' | 'trace' | 'state' | 'signal'>

/** The places that one training alone may write to. */
export const listClaimedOutputs = ({ save, best, perImage, metrics, report, trace, state }: Omit<Files, 'signal'>): readonly Claimed[] => [
  ...namedPaths('--save', save),
  ...namedPaths('--best', best),
  ...namedPaths('--per-image', perImage),
  ...namedPaths('--metrics', metrics),
  ...namedPaths('--report', report),
  ...namedPaths('--trace', trace),
  ...namedPaths('--state', state).map((folder) => ({ ...folder, isFolder: true as const }))
]

/** The files that a training writes, its locks included. */
export const outputPaths = async (files: Omit<Files, 'signal'>): Promise<readonly NamedPath[]> => {
  const claimed = listClaimedOutputs(files)
  return [...claimed, ...(await findLocks(claimed))]
}

const datasetsIn = ({ training, validation }: Split): readonly (readonly [option: string, dataset: Dataset])[] => [
  ['--data', training],
  ...(validation === undefined ? [] : [['--validation', validation] as const])
]

const listFiles = (option: string, { examples }: Dataset): readonly NamedPath[] =>
  examples.flatMap(({ path, label, tissue }) => [
    { name: `an image of ${option},`, path },
    ...(tissue === undefined ? [] : [{ name: `a mask of tissue of ${option},`, path: tissue }]),
    ...(isMask(label) ? [{ name: `a mask of ${option},`, path: label.path }] : [])
  ])

/** All files of images and masks of a training, as sentences name them. */
export const listDataFiles = (split: Split): readonly NamedPath[] =>
  datasetsIn(split).flatMap(([option, dataset]) => listFiles(option, dataset))

/** Tells whether metrics might be set aside under this path. */
const isAside = async (path: string, metrics: string): Promise<boolean> =>
  basename(path).startsWith(`${basename(metrics)}.`) &&
  /^\d+$/.test(basename(path).slice(basename(metrics).length + 1)) &&
  (await isInside(dirname(path), dirname(metrics))) &&
  (await isInside(dirname(metrics), dirname(path)))

/**
 * A folder among folders of classes would be a class the next time, and a file among states one of
 * them.
 */
const checkFolders =
  (files: Files, split: Split): Outcome<void> =>
  async () => {
    const { state, metrics } = files
    for (const { name, path } of listClaimedOutputs(files))
      if (metrics !== undefined && (await isAside(path, metrics)))
        return E.left(inputFailure(`${name} ${path} is named as metrics that --metrics ${metrics} sets aside: name another file`))
    if (state === undefined) return E.right(undefined)
    for (const [, { source, names }] of datasetsIn(split))
      if (source !== undefined && names !== undefined && (await isInside(state, source)))
        return E.left(inputFailure(`--state ${state} lies in ${source}, where each folder is a class: name another place`))
    for (const { name, path } of listClaimedOutputs(files))
      if (isStateName(basename(path)) && (await isInside(dirname(path), state)))
        return E.left(inputFailure(`${name} ${path} is named as the states in --state ${state} are: name another file`))
    return E.right(undefined)
  }

/**
 * Refuses to write over images or masks, and states where they would be taken for something else.
 */
export const checkWrittenFiles = (files: Files, split: Split): Outcome<void> =>
  pipe(
    TE.fromTask(() => outputPaths(files)),
    TE.chain((writes) => checkPaths({ reads: listDataFiles(split), writes }, files.signal)),
    TE.chain(() => checkFolders(files, split))
  )
