import type { Outcome } from '../failure'
import { text, path as pathCodec } from '../options/codecs'
import { libraryFunction } from '../options/decode-options'
import { withDefault, required } from '../options/option'
import { type Dataset, loadDataset } from './dataset'

const reading = { path: required({ codec: pathCodec }, ''), option: withDefault({ codec: text }, '', '--data') }

const read = libraryFunction('readDataset', reading, ({ path, option }) => loadDataset(path, option))

/**
 * A CSV file of path,label or path,mask rows (paths relative to the file; a first row with these
 * words is a header, and without one a second column that ends in .png holds masks), or a folder
 * with one folder of images a class (labels in the order of their names). Every image must exist;
 * masks are read, 8-bit PNG of their images' sizes whose values are classes, 255 ignored. `option`
 * names it in sentences.
 */
export const readDataset = (path: string, option = '--data'): Outcome<Dataset> => read({ path, option })
