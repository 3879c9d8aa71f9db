import { constants, open } from 'node:fs/promises'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import { type Outcome, inputFailure } from '../failure'
import type { NamedPath } from './paths'

/** A kind of file that is written here, and what its first bytes are, a character each. */
interface Kind {
  readonly name: string
  readonly format: string
  readonly begins: RegExp
  /** The ending that it has, and those of other kinds, which tell readers something else. */
  readonly ending: string
  readonly otherEndings: RegExp
}

/** safetensors: 8 bytes of length, then a header of JSON. */
export const tensors: Kind = {
  name: 'safetensors',
  format: 'safetensors',
  begins: /^[^]{4}\0{4}\{/,
  ending: '.safetensors',
  otherEndings: /\.(pth?|bin|ckpt|onnx|h5|npz)$/i
}
const page: Kind = {
  name: 'report',
  format: 'HTML',
  begins: /^<!doctype html/i,
  ending: '.html',
  otherEndings: /\.(json|pdf|png|svg|jpe?g|md)$/i
}
const trace: Kind = { name: 'trace', format: 'JSON', begins: /^\s*[[{]/, ending: '.json', otherEndings: /\.(html?|pdf|png|svg)$/i }
const program: Kind = {
  name: 'Program',
  format: 'text',
  begins: /^(float|bf|tf)\d+, input /,
  ending: '.txt',
  otherEndings: /\.(json|html?|[cm]?[jt]s)$/i
}
const imageTable: Kind = {
  name: 'table of --per-image',
  format: 'CSV',
  begins: /^path,pixels,/,
  ending: '.csv',
  otherEndings: /\.(jsonl?|html?|xlsx?|parquet)$/i
}

/** What options write whatever the file is called. */
const kinds: Readonly<Record<string, Kind>> = {
  '--save': tensors,
  '--best': tensors,
  '--report': page,
  '--trace': trace,
  '--program': program,
  '--per-image': imageTable
}

/** The first bytes of a file, a character each; none where there is none to be read. */
const readFirst = async (path: string): Promise<string> => {
  // A pipe that nobody writes to would be waited for.
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch(() => undefined)
  if (file === undefined) return ''
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(16), 0, 16, 0)
    return buffer.toString('latin1', 0, bytesRead)
  } catch {
    return ''
  } finally {
    await file.close()
  }
}

const fail = ({ name, path }: NamedPath, fault: string): Outcome<never> => TE.left(inputFailure(`${name} ${path}: ${fault}`))

/**
 * Refuses to replace a file of another kind than would be written there, which a slip in a path
 * would cost; empty ones may be. Refuses a name with the ending of another kind too.
 */
export const checkWrittenKind = (place: NamedPath, kind = kinds[place.name]): Outcome<void> => {
  if (kind === undefined) return TE.right(undefined)
  const { name, begins, format, ending, otherEndings } = kind
  const [other] = otherEndings.exec(place.path) ?? []
  return pipe(
    TE.fromTask(() => readFirst(place.path)),
    TE.chain((first) => {
      if (first !== '' && !begins.test(first)) return fail(place, `a file that is no ${name} is there: give another name, or remove it`)
      return other === undefined ? TE.right(undefined) : fail(place, `it is written as ${format}, not as ${other}: name it *${ending}`)
    })
  )
}
