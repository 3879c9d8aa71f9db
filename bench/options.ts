import { parseArgs, type ParseArgsConfig } from 'node:util'
import * as E from 'fp-ts/Either'
import { builtIn } from '../models'
import { errorReason } from '../src/failure'
import { must } from './must'

const refuse = (message: string): never => must(E.left({ message }))

/** What parseArgs reads of the command line; what it refuses ends the process with one sentence. */
export const readOptions = <const T extends ParseArgsConfig>(config: T): ReturnType<typeof parseArgs<T>> =>
  must(
    E.tryCatch(
      () => parseArgs(config),
      (error) => ({ message: errorReason(error) })
    )
  )

/** The numbers of an option, such as `512,1024`, whole and above 0. */
export const readCounts = (option: string, text: string): readonly number[] =>
  text.split(',').map((one) => {
    const value = Number(one)
    return Number.isSafeInteger(value) && value > 0 ? value : refuse(`${option}: ${one} is not a whole number above 0`)
  })

/** The one number of an option, whole and above 0. */
export const readCount = (option: string, text: string): number => {
  const [value, ...others] = readCounts(option, text)
  return others.length === 0 ? value! : refuse(`${option}: ${text} is more than one number`)
}

/** The numbers of an option that may be fractions, from `least` on. */
export const readNumbers = (option: string, text: string, least = 0): readonly number[] =>
  text.split(',').map((one) => {
    const value = one === '' ? NaN : Number(one)
    return Number.isFinite(value) && value >= least ? value : refuse(`${option}: ${one} is not a number from ${least} on`)
  })

/** The one number of an option that may be a fraction, from `least` on. */
export const readNumber = (option: string, text: string, least = 0): number => {
  const [value, ...others] = readNumbers(option, text, least)
  return others.length === 0 ? value! : refuse(`${option}: ${text} is more than one number`)
}

/** The names of an option, each one of those that are known. */
export const readNames = <N extends string>(option: string, text: string, known: readonly N[]): readonly N[] =>
  text.split(',').map((one) => known.find((name) => name === one) ?? refuse(`${option}: ${one} is none of ${known.join(', ')}`))

/** The one name of an option, of those that are known. */
export const readName = <N extends string>(option: string, text: string, known: readonly N[]): N =>
  readNames(option, text, known).length === 1 ? (text as N) : refuse(`${option}: ${text} is more than one name`)

/** The one built-in model of an option. */
export const readModel = (option: string, text: string): string => readName(option, text, Object.keys(builtIn))

/** The built-in models of an option. */
export const readModels = (option: string, text: string): readonly string[] => readNames(option, text, Object.keys(builtIn))
