import * as T from 'fp-ts/Task'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import { type Outcome, collectFailures } from '../failure'
import { type SeenImage, imageNotices } from '../images/image-notices'
import { type Extent2, decodeImage, upscaledExtent, readHeader } from '../images/decode-image'
import { inParallel } from '../tasks/in-parallel'
import type { TrainingRequest } from './request'
import type { Split } from './validation-split'

/** Images are decoded whole: more at once would only take more memory. */
const decodedAtOnce = 2

const checkHeader = (path: string, least: Extent2): Outcome<SeenImage> =>
  pipe(
    readHeader(path),
    TE.chainFirstEitherK((header) => upscaledExtent(`the image ${path}`, header, least)),
    TE.map((header) => ({ path, header }))
  )

/**
 * Opens each image of the data and looks at its header, and decodes it whole where that is asked
 * for, before anything is planned.
 */
export const checkImages = (
  { training, validation }: Split,
  least: Extent2,
  { options: { checkData, onCheck, signal }, notify }: TrainingRequest
): Outcome<void> => {
  const examples = [...training.examples, ...(validation?.examples ?? [])]
  const paths = [...new Set(examples.map(({ path }) => path))]
  const each = <A>(check: (path: string) => Outcome<A>, lanes?: number): Outcome<readonly A[]> =>
    pipe(
      inParallel(paths, (path) => check(path)(), signal, lanes),
      TE.chainEitherK(collectFailures)
    )
  let count = 0
  const readWhole = (path: string): Outcome<void> =>
    pipe(
      decodeImage(path, { height: 1, width: 1 }),
      TE.map(() => undefined),
      T.chainFirstIOK(() => () => onCheck?.((count += 1), paths.length))
    )
  return pipe(
    each((path) => checkHeader(path, least)),
    TE.map((seen) => imageNotices(seen).forEach(notify)),
    TE.chain(() => (checkData ? each(readWhole, decodedAtOnce) : TE.right([]))),
    TE.map(() => undefined)
  )
}
