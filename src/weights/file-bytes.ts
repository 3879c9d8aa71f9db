import { constants } from 'node:buffer'
import { type FileHandle, open, stat } from 'node:fs/promises'
import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import { type Outcome, inputFailure, errorReason } from '../failure'

/** Fills `target` from an open file, from byte `offset` on; throws where the file ends before. */
export const readBytes = async (file: FileHandle, offset: number, target: Uint8Array): Promise<void> => {
  for (let done = 0; done < target.length;) {
    const { bytesRead } = await file.read(target, done, Math.min(target.length - done, 2 ** 26), offset + done)
    if (bytesRead === 0) throw new Error('the file ends early')
    done += bytesRead
  }
}

/** Reads the bytes of what is called `name`; a sentence where they are too many. */
export const readRange = async (file: FileHandle, name: string, offset: number, bytes: number): Promise<E.Either<string, ArrayBuffer>> => {
  if (bytes > constants.MAX_LENGTH) return E.left(`${name} holds ${bytes} bytes, over the ${constants.MAX_LENGTH} that Node reads at once`)
  const read = new Uint8Array(bytes)
  await readBytes(file, offset, read)
  return E.right(read.buffer)
}

/** Opens a file for reading, and closes it; a fault becomes a sentence on its path. */
export const withFile = <A>(path: string, use: (file: FileHandle) => Promise<E.Either<string, A>>): Outcome<A> =>
  pipe(
    TE.tryCatch(
      async () => {
        if (!(await stat(path)).isFile()) throw new Error('it is no ordinary file')
        const file = await open(path, 'r')
        return use(file).finally(() => file.close())
      },
      (thrown) => `cannot be read (${errorReason(thrown)})`
    ),
    TE.chainEitherK((result) => result),
    TE.mapLeft((fault) => inputFailure(`${path}: ${fault}`))
  )

/** Tells a file from one that has taken its place, as a training that saves puts it there. */
export const identify = async (file: FileHandle): Promise<string> => {
  const { dev, ino, size, mtimeMs } = await file.stat()
  return [dev, ino, size, mtimeMs].join()
}

/** As `withFile`, of a file that must still be the one that `identity` tells. */
export const withSameFile = <A>(path: string, identity: string, use: (file: FileHandle) => Promise<E.Either<string, A>>): Outcome<A> =>
  withFile(path, async (file) =>
    (await identify(file)) === identity ? use(file) : E.left('was replaced while it was read: run the command again')
  )
