import * as t from 'io-ts'
import { decodeMetadata, jsonText } from './decode-metadata'
import type { Metadata } from './safetensors'

const key = 'tilefold.classes'

/** Without what would move a terminal's cursor. */
const isName = (text: string): boolean => /^[^\p{C}]+$/u.test(text)
const codec = t.readonlyArray(t.refinement(t.string, isName))

/** What a weights file keeps of the names of classes, or values; nothing of numbers. */
export const classMetadata = (names: readonly string[] | undefined): Metadata =>
  names === undefined ? {} : { [key]: JSON.stringify(names) }

/** The names of classes, or values, that a file of weights says; undefined where it has none. */
export const decodeTrainedClasses = decodeMetadata({ key, subject: 'classes', options: '--class-names' }, jsonText(codec))
