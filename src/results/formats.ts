import { extname } from 'node:path'
import * as E from 'fp-ts/Either'
import { type Failure, inputFailure } from '../failure'

/** What the classes of pixels can be written as. */
export const resultFormats = ['tif', 'png', 'geojson'] as const
/** The name of a format in which predicted classes of pixels are written. */
export type ResultFormat = (typeof resultFormats)[number]

const extensions: Readonly<Record<string, ResultFormat>> = { '.tif': 'tif', '.tiff': 'tif', '.png': 'png', '.geojson': 'geojson' }

/** The format that a file's name asks for. */
export const parseResultFormat = (path: string): E.Either<Failure, ResultFormat> =>
  E.fromNullable(inputFailure(`${path}: a mask is named *.tif or *.png, its polygons *.geojson`))(extensions[extname(path).toLowerCase()])

/** What probabilities are stored as: from 0 to 1, or from 0 to 255, rounded. */
export const probabilityTypes = ['float32', 'uint8'] as const
/** The type of an element of a map of probabilities: from 0 to 1, or from 0 to 255. */
export type ProbabilityType = (typeof probabilityTypes)[number]

/** What shows where in an image a class is seen. */
export const heatMapKinds = ['cam', 'saliency'] as const
/** The name of a way to show which pixels speak for a class. */
export type HeatMapKind = (typeof heatMapKinds)[number]
