import { open } from 'node:fs/promises'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import { type Outcome, inputFailure } from '../failure'
import type { NamedPath } from './paths'

/** A kind of file that is written here, by its first bytes. */
interface Kind {
  readonly name: string
  readonly begins: (first: Buffer) => boolean
}

/** safetensors: 8 bytes of length, then a header of JSON. */
const weights: Kind = { name: 'safetensors', begins: (first) => first[8] === '{'.charCodeAt(0) && first.readUInt32LE(4) === 0 }
const page: Kind = { name: 'report', begins: (first) => /^<!doctype html/i.test(first.toString('latin1')) }
const trace: Kind = { name: 'trace', begins: (first) => /^\s*[[{]/.test(first.toString('latin1')) }

/** What options write of whom the name of the file tells nothing. */
const kinds: Readonly<Record<string, Kind>> = { '--save': weights, '--best': weights, '--report': page, '--trace': trace }

/** The first bytes of a file; undefined where there is none to be read. */
const readFirst = async (path: string): Promise<Buffer | undefined> => {
  const file = await open(path, 'r').catch(() => undefined)
  if (file === undefined) return undefined
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(16), 0, 16, 0)
    return buffer.subarray(0, bytesRead)
  } catch {
    return undefined
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
      first === undefined || first.length === 0 || kind.begins(Buffer.concat([first, Buffer.alloc(16 - first.length)]))
        ? TE.right(undefined)
        : TE.left(inputFailure(`${name} ${path}: a file that is no ${kind.name} is there: give another name, or remove it`))
    )
  )
}
