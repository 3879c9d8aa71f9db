import { open } from 'node:fs/promises'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import { type Outcome, inputFailure } from '../failure'
import type { NamedPath } from './paths'

/** A kind of file that is written here, and what its first bytes are, a character each. */
interface Kind {
  readonly name: string
  readonly begins: RegExp
}

/** safetensors: 8 bytes of length, then a header of JSON. */
const weights: Kind = { name: 'safetensors', begins: /^[^]{4}\0{4}\{/ }
const page: Kind = { name: 'report', begins: /^<!doctype html/i }
const trace: Kind = { name: 'trace', begins: /^\s*[[{]/ }

/** What options write of whom the name of the file tells nothing. */
const kinds: Readonly<Record<string, Kind>> = { '--save': weights, '--best': weights, '--report': page, '--trace': trace }

/** The first bytes of a file, a character each; none where there is none to be read. */
const readFirst = async (path: string): Promise<string> => {
  const file = await open(path, 'r').catch(() => undefined)
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

/**
 * Refuses to replace a file of another kind than would be written there, which a slip in a path
 * would cost; empty ones may be.
 */
export const checkReplacedKind = ({ name, path }: NamedPath): Outcome<void> => {
  const kind = kinds[name]
  if (kind === undefined) return TE.right(undefined)
  return pipe(
    TE.fromTask(() => readFirst(path)),
    TE.chain((first) =>
      first === '' || kind.begins.test(first)
        ? TE.right(undefined)
        : TE.left(inputFailure(`${name} ${path}: a file that is no ${kind.name} is there: give another name, or remove it`))
    )
  )
}
