import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import { decodeAs } from '../../staging/decoding/decode'
import { type ClassList, maxNamedClasses, parseClassList } from '../datasets/class-list'
import type { DataRules } from '../datasets/data-rules'
import { decoderCodec, boundedListCodec, textCodec } from '../options/codecs'
import { path, textKind } from '../options/kinds'
import { type DecodedOptions, type Kind, optional } from '../options/option'

/** Names of classes in order, at most so many: 'normal,tumour=T', or a list of such entries. */
export const classNames = (most: number): Kind<readonly string[] | string, ClassList> => {
  const parseEntries = (entries: readonly string[]) => parseClassList(entries, most)
  const parseText = (text: string) => parseEntries(text.split(','))
  return {
    codec: decoderCodec('names of classes', (value) =>
      typeof value === 'string'
        ? parseText(value)
        : pipe(decodeAs('list of names', boundedListCodec(textCodec, 1))(value), E.chain(parseEntries))
    ),
    commandLine: { form: 'text', placeholder: 'list', parse: (text) => E.map(() => text)(parseText(text)) }
  }
}

const text: Kind<string> = textKind('text', textCodec, E.right)

/** How the data of a training, and of its validation, are read. */
export const dataOptions = {
  /** Names of the classes in order: 'normal,tumour', or a list; 'tumour=T' where files say T. */
  classNames: optional(
    classNames(maxNamedClasses),
    'names of the classes in order, such as normal,tumour=T where files say T; later ones cover earlier where polygons overlap (docs/labels.md)',
    { otherwise: 'numbers; folders and polygons by their names, sorted' }
  ),
  /** The class of pixels in no polygon of an annotation file. */
  unannotated: optional(text, 'class of pixels in no polygon of an annotation file', { otherwise: 'ignored' }),
  /** The folder to which paths in a CSV file are relative. */
  root: optional(path('folder'), 'folder to which paths in a CSV file are relative', { otherwise: "the file's own" }),
  /** What names of images in a CSV file lack. */
  suffix: optional(text, 'what names of images in a CSV file lack, such as .svs')
}

/** The rules by which data are read that options say; the rest names the option and its part. */
export const makeDataRules = (
  { classNames, unannotated, root, suffix }: DecodedOptions<typeof dataOptions>,
  rest: Pick<DataRules, 'option' | 'part' | 'skipBad'>
): DataRules => ({ ...rest, classes: classNames, unannotated, root, suffix })
