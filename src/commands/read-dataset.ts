import type { Outcome } from '../failure'
import { textCodec, pathCodec } from '../options/codecs'
import { libraryFunction } from '../options/decode-options'
import { oneOf } from '../options/kinds'
import { type OptionsOf, optional, required, withDefault } from '../options/option'
import { dataOptions, makeDataRules } from '../option-tables/data-options'
import { type SplitPart, splitParts } from '../datasets/data-rules'
import type { Dataset } from '../datasets/dataset'
import { loadDataset } from '../datasets/load-dataset'

const rules = {
  ...dataOptions,
  /** Rows that count where a CSV file has a column `split`; all of them where absent. */
  split: optional(oneOf<SplitPart>('part', splitParts), '')
}

/** How data are read. */
export interface ReadDatasetOptions extends OptionsOf<typeof rules> {}

const reading = { path: required({ codec: pathCodec }, ''), option: withDefault({ codec: textCodec }, '', '--data'), ...rules }

const read = libraryFunction('readDataset', reading, ({ path, option, split, ...given }) =>
  loadDataset(path, makeDataRules(given, { option, part: split }))
)

/**
 * A CSV file (paths relative to it or to `root`, columns by its header, `path,label` or `path,mask`
 * without one), or a folder with one folder of images a class (labels in the order of their names,
 * or of `classNames`). Every image must exist. Masks are read: 8-bit PNG or tiled TIFF of their
 * images' sizes whose values are classes, 255 ignored, or polygons in GeoJSON or XML. `option`
 * names it in sentences.
 */
export const readDataset = (path: string, option = '--data', rules: ReadDatasetOptions = {}): Outcome<Dataset> =>
  read({ ...rules, path, option })
