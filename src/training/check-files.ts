import { basename, dirname } from 'node:path'
import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import { type Dataset } from '../dataset'
import { type Outcome, inputFailure } from '../failure'
import { type NamedPath, checkPaths, liesIn, named } from '../paths'
import type { TrainOptions } from './options'
import { isStateName } from './state'
import type { Split } from './validation-split'

type Files = Pick<TrainOptions, 'save' | 'best' | 'metrics' | 'state' | 'signal'>

/** What a training writes. */
export const writtenBy = ({ save, best, metrics, state }: Files): readonly NamedPath[] => [
  ...named('--save', save),
  ...named('--best', best),
  ...named('--metrics', metrics),
  ...named('--state', state)
]

const datasetsIn = ({ training, validation }: Split): readonly (readonly [option: string, dataset: Dataset])[] => [
  ['--data', training],
  ...(validation === undefined ? [] : [['--validation', validation] as const])
]

const filesOf = (option: string, { examples }: Dataset): readonly NamedPath[] =>
  examples.flatMap(({ path, label }) => [
    { name: `an image of ${option},`, path },
    ...(typeof label === 'number' ? [] : [{ name: `a mask of ${option},`, path: label.path }])
  ])

/** A folder among folders of classes would be a class the next time, and a file among states one of them. */
const checkFolders =
  (files: Files, split: Split): Outcome<void> =>
  async () => {
    const { state } = files
    if (state === undefined) return E.right(undefined)
    for (const [, { source, names }] of datasetsIn(split))
      if (source !== undefined && names !== undefined && (await liesIn(state, source)))
        return E.left(inputFailure(`--state ${state} lies in ${source}, where each folder is a class: name another place`))
    for (const { name, path } of writtenBy(files))
      if (isStateName(basename(path)) && (await liesIn(dirname(path), state)))
        return E.left(inputFailure(`${name} ${path} is named as the states in --state ${state} are: name another file`))
    return E.right(undefined)
  }

/** Refuses to write over images or masks, and states where they would be taken for something else. */
export const checkWrittenFiles = (files: Files, split: Split): Outcome<void> =>
  pipe(
    checkPaths(
      { reads: datasetsIn(split).flatMap(([option, dataset]) => filesOf(option, dataset)), writes: writtenBy(files) },
      files.signal
    ),
    TE.chain(() => checkFolders(files, split))
  )
