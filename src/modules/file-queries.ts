import { createHash } from 'node:crypto'
import { readFileSync, readdirSync, realpathSync, statSync } from 'node:fs'
import * as t from 'io-ts'
import type { System } from 'typescript'

const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex')

/** The questions that can be asked of a path. */
const answers = {
  contents: (path: string): string => sha256(readFileSync(path)),
  isFile: (path: string): string => `${statSync(path).isFile()}`,
  isFolder: (path: string): string => `${statSync(path).isDirectory()}`,
  folders: (path: string): string => readdirSync(path).sort().join('/'),
  place: (path: string): string => realpathSync(path)
} as const
type Question = keyof typeof answers

/** The answer to a question; every question about a file that is not there has the same one. */
const answer = (question: Question, path: string): string => {
  try {
    return answers[question](path)
  } catch {
    return ''
  }
}

const answersCodec = t.record(t.string, t.string)

/**
 * The questions that a compiler asked of the file system, by path, with the answers that it got.
 */
export const fileQueriesCodec = t.type({
  contents: answersCodec,
  isFile: answersCodec,
  isFolder: answersCodec,
  folders: answersCodec,
  place: answersCodec
})
/** The answers of the file system to what a compiler asked, by question and path. */
export type FileQueries = t.TypeOf<typeof fileQueriesCodec>

/** Tells whether the file system would give all the same answers now. */
export const haveSameAnswers = (asked: FileQueries): boolean =>
  (Object.keys(answers) as Question[]).every((question) =>
    Object.entries(asked[question]).every(([path, before]) => answer(question, path) === before)
  )

const byteOrders: Readonly<Record<string, string>> = { fffe: 'utf-16le', feff: 'utf-16be' }

/** The text of bytes, as the compiler reads it. */
const decodeText = (bytes: Buffer): string => new TextDecoder(byteOrders[bytes.toString('hex', 0, 2)] ?? 'utf-8').decode(bytes)

/** The compiler's view of the file system from a folder, which writes down what it is asked. */
export const recordQueries = (system: System, folder: string): { readonly system: System; readonly asked: FileQueries } => {
  const asked: FileQueries = { contents: {}, isFile: {}, isFolder: {}, folders: {}, place: {} }
  const ask = (question: Question, path: string): string => (asked[question][path] ??= answer(question, path))
  return {
    asked,
    system: {
      ...system,
      getCurrentDirectory: () => folder,
      readFile: (path) => {
        try {
          const bytes = readFileSync(path)
          asked.contents[path] = sha256(bytes)
          return decodeText(bytes)
        } catch {
          asked.contents[path] = ''
          return undefined
        }
      },
      fileExists: (path) => ask('isFile', path) === 'true',
      directoryExists: (path) => ask('isFolder', path) === 'true',
      getDirectories: (path) => (ask('folders', path), system.getDirectories(path)),
      realpath: (path) => ask('place', path) || path
    }
  }
}
