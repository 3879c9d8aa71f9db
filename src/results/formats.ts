import { extname } from 'node:path'
import * as E from 'fp-ts/Either'
import { type Failure, inputFailure } from '../failure'

/** What the classes of pixels can be written as. */
export const resultFormats = ['tif', 'png'] as const
export type ResultFormat = (typeof resultFormats)[number]

const extensions: Readonly<Record<string, ResultFormat>> = { '.tif': 'tif', '.tiff': 'tif', '.png': 'png' }

/** The format that a file's name asks for. */
export const formatOf = (path: string): E.Either<Failure, ResultFormat> =>
  E.fromNullable(inputFailure(`${path}: a mask is named *.tif or *.png`))(extensions[extname(path).toLowerCase()])
