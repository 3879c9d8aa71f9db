import * as E from 'fp-ts/Either'
import * as t from 'io-ts'
import { decodeMetadata, jsonText } from './decode-metadata'
import type { Metadata } from './safetensors'
import type { WeightFile } from './weight-file'

const key = 'tilefold.classes'

/** Without what would move a terminal's cursor. */
const isName = (text: string): boolean => /^[^\p{C}]+$/u.test(text)
const codec = t.readonlyArray(t.refinement(t.string, isName))

/** What a weights file keeps of the names of classes, or values; nothing of numbers. */
export const classMetadata = (names: readonly string[] | undefined): Metadata =>
  names === undefined ? {} : { [key]: JSON.stringify(names) }

/** The names of classes, or values, that a file of weights says; undefined where it has none. */
export const decodeTrainedClasses = decodeMetadata({ key, subject: 'classes', options: '--class-names' }, jsonText(codec))

/** A class, or value, that has one place in weights and another where they are used. */
export interface MovedClass {
  readonly name: string
  readonly trained: number
  readonly now: number
  /** All names, in the order of the weights. */
  readonly order: readonly string[]
}

/** The first of the names that stands elsewhere than in a file of weights; new names do not. */
export const findMovedClass = (names: readonly string[], file: Pick<WeightFile, 'path' | 'metadata'>): MovedClass | undefined => {
  // What cannot be decoded says nothing of an order.
  const order = E.getOrElse((): readonly string[] | undefined => undefined)(decodeTrainedClasses(file)) ?? []
  // Of one score for two classes weights may name the second alone.
  const now = order.length < names.length ? -1 : names.findIndex((name, index) => order.includes(name) && order[index] !== name)
  const name = names[now]
  return name === undefined ? undefined : { name, trained: order.indexOf(name), now, order }
}
