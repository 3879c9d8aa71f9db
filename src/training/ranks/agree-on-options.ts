import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import * as t from 'io-ts'
import { addonHash, versions } from '../../../native'
import { type Failure, type Outcome, deviceFailure, inputFailure } from '../../failure'
import type { DecodedTrainOptions } from '../../option-tables/train-options'
import { optionFlag } from '../../options/option'
import { type Ranks, decodeJsonAs, encodeJson, failOnAllRanks } from '../../ranks/ranks'

/** What must be the same on all ranks, by its name in a sentence. */
export type Choices = Readonly<Record<string, unknown>>

const isPlainText = (value: unknown): boolean => typeof value !== 'object' || value === null

/** A sentence on what a rank has otherwise than the first, if anything. */
const differenceText = (rank: number, name: string, found: unknown, wanted: unknown): string => {
  const remedy = 'start all ranks with the same options, data and build'
  const text = (value: unknown): string => String(value ?? 'none')
  return isPlainText(found) && isPlainText(wanted)
    ? `rank ${rank} has ${name} ${text(found)} where rank 0 has ${text(wanted)}: ${remedy}`
    : `rank ${rank} has another ${name} than rank 0: ${remedy}`
}

/**
 * A sentence on the first thing in which a rank differs from the first rank; undefined where all
 * are alike.
 */
const firstDifference = (all: readonly Choices[]): string | undefined => {
  const [first = {}, ...others] = all
  for (const [index, other] of others.entries())
    for (const name of new Set([...Object.keys(first), ...Object.keys(other)]))
      if (JSON.stringify(first[name]) !== JSON.stringify(other[name])) return differenceText(index + 1, name, other[name], first[name])
  return undefined
}

/** What this process is, of which every rank must be the same. */
const listBuild = (): E.Either<Failure, Choices> =>
  pipe(
    versions(),
    E.bindTo('built'),
    E.bind('hash', addonHash),
    E.bimap(deviceFailure, ({ built: { library, version, instructionSet }, hash }) => ({
      Tilefold: (require('tilefold/package.json') as { readonly version: string }).version,
      library: `${library} ${version}`,
      instructions: instructionSet,
      'addon of hash': hash
    }))
  )

/** Options by which ranks plan and meet, before they have anything else to compare. */
const planningOptions = [
  'shardRows',
  'shardImages',
  'shardOptimizer',
  'accumulate',
  'optimizer',
  'momentum',
  'weightDecay',
  'clipNorm',
  'freeze',
  'paramGroup',
  'classWeights',
  'input',
  'crop',
  'classes',
  'loss',
  'device',
  'precision',
  'strategy',
  'budget',
  'hostBudget',
  'exactKernels',
  'placement',
  'network',
  'steps',
  'epochs',
  'seed',
  'skipBad'
] as const satisfies readonly (keyof DecodedTrainOptions)[]

const listOptions = (options: DecodedTrainOptions): E.Either<Failure, Choices> =>
  E.map((build: Choices): Choices => ({
    ...build,
    model: typeof options.model === 'string' ? options.model : options.model.name,
    ...Object.fromEntries(planningOptions.map((name) => [optionFlag(name), options[name]]))
  }))(listBuild())

/** Codec of choices. */
export const choicesCodec = t.record(t.string, t.unknown, 'record of choices')

/** Fails on all ranks where one has something otherwise than the first, as each finds by itself. */
export const refuseDifference = (ranks: Ranks, all: readonly Choices[]): Outcome<void> => {
  const difference = firstDifference(all)
  return difference === undefined ? TE.right(undefined) : failOnAllRanks(ranks, inputFailure(difference))
}

/** Tells all ranks what this one has, and fails on all where one has it otherwise. */
export const agreeOn = (ranks: Ranks, own: E.Either<Failure, Choices>): Outcome<void> =>
  pipe(
    ranks.allGather(E.map(encodeJson)(own)),
    TE.chainEitherK(E.traverseArray(decodeJsonAs(choicesCodec))),
    TE.chain((all) => refuseDifference(ranks, all))
  )

/** Fails on all ranks where one is another build, or would plan otherwise, before any plans. */
export const agreeOnOptions = (ranks: Ranks, options: DecodedTrainOptions): Outcome<void> => agreeOn(ranks, listOptions(options))
