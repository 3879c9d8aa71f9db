import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import { type Outcome, inputFailure } from '../failure'
import { readBytes, withFile } from './file-bytes'
import { openTensorFile, readTensor } from './safetensors'
import { openTorchFile } from './torch-file'
import type { WeightFile } from './weight-file'

/** What states of trainings hold, and weights do not. */
const ofStates = 'training.loss'

const openSafetensors = (path: string): Outcome<WeightFile> =>
  pipe(
    openTensorFile(path),
    TE.filterOrElse(
      ({ tensors }) => !tensors.has(ofStates),
      () =>
        inputFailure(`${path}: is a state of a training, not weights: train with its folder as --state, --resume and --save writes those`)
    ),
    TE.map((file) => ({
      path,
      tensors: file.tensors,
      read: (name, target) => readTensor(file, name, target),
      metadata: file.metadata,
      notices: []
    }))
  )

/** The first bytes of files; no header of safetensors is so long that it began as one of these. */
const beginnings = {
  zip: Buffer.from('PK\x03\x04', 'latin1'),
  /** A pickle of the number by which PyTorch before 1.6, and later where asked, knew its files. */
  beforeZip: Buffer.from('\x80\x02\x8a\x0a', 'latin1')
}

/** The first bytes of a file, fewer where it is shorter. */
const readBeginning = (path: string): Outcome<Buffer> =>
  withFile(path, async (file) => {
    const bytes = Buffer.alloc(Math.min(4, (await file.stat()).size))
    await readBytes(file, 0, bytes)
    return E.right(bytes)
  })

/** Reads and checks what a weights file says of its tensors; what it is, its first bytes say. */
export const openWeightFile = (path: string): Outcome<WeightFile> =>
  pipe(
    readBeginning(path),
    TE.chain((bytes): Outcome<WeightFile> => {
      if (bytes.equals(beginnings.zip)) return openTorchFile(path)
      if (bytes.equals(beginnings.beforeZip))
        return TE.left(
          inputFailure(
            `${path}: is in PyTorch's format from before 1.6, which is not read: save it again, torch.save(torch.load(FILE), FILE)`
          )
        )
      return openSafetensors(path)
    })
  )
