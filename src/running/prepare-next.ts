import type * as TE from 'fp-ts/TaskEither'
import type { DeviceName, Image, Session } from '../../native'
import type { Program } from '../../staging'
import { pixelBytes } from '../images/samples'

/** The images of the next step, once they are there; none where nobody knows. */
export type NextImages = Promise<readonly Image[]>

/** Bytes of host memory that images of the next step take at most. */
const maxBytes = 2 ** 28

/** Bytes of the crops of images in a program's input. */
const cropBytes = ([, , height, width]: Program['input'], images: readonly Image[]): number =>
  images.reduce((sum, { channels, elementType = 'uint8' }) => sum + height * width * pixelBytes({ channels, elementType }), 0)

interface Preparing {
  readonly program: Program
  readonly device: DeviceName
  readonly next?: NextImages | undefined
}

/**
 * Runs what a session does, and has a GPU's driver read the next images meanwhile, where they are
 * few enough to be held twice. What cannot be prepared the next step reads by itself.
 */
export const runPreparing =
  (session: Session, { program, device, next }: Preparing) =>
  <L, A>(run: TE.TaskEither<L, A>): TE.TaskEither<L, A> =>
  () => {
    // Begins at once, and so before anything is prepared.
    const running = run()
    void next?.then((images) => {
      if (device === 'cuda' && cropBytes(program.input, images) <= maxBytes) void session.prepare(images)()
    })
    return running
  }
