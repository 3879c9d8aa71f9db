import * as E from 'fp-ts/Either'
import type { FileHandle } from 'node:fs/promises'
import { elementCount } from '../../staging/graph/extents'
import type { Outcome } from '../failure'
import { type Target, checkElements, convertElements, elementBytes } from './element-types'
import { identify, readRange, withFile, withSameFile } from './file-bytes'
import { type TorchTensor, readStateDict, spannedElements, storageBytes } from './torch-pickle'
import type { WeightFile } from './weight-file'
import { type ByteRange, type EntryRange, withZipEntries } from './zip-entries'

/** Of a pickle, which is held in memory whole; that of a thousand tensors has 100 kB. */
const maxPickleBytes = 20e6

/** A tensor of a state dict, and where its storage stands in the file. */
interface StoredView {
  readonly view: TorchTensor
  readonly storage: ByteRange
}

const readText = async (file: FileHandle, name: string, entry: EntryRange | undefined, most: number): Promise<E.Either<string, Buffer>> => {
  if (entry === undefined) return E.left(`has no ${name}, as files of torch.save do`)
  const { offset, bytes } = await entry()
  if (bytes > most) return E.left(`has a ${name} of ${bytes} bytes, over the ${most} that are read`)
  return E.map((read: ArrayBuffer) => Buffer.from(read))(await readRange(file, name, offset, bytes))
}

/** The storages that tensors view, each whole in an entry of its own. */
const locate = async (
  folder: string,
  entries: ReadonlyMap<string, EntryRange>,
  tensors: ReadonlyMap<string, TorchTensor>
): Promise<E.Either<string, ReadonlyMap<string, StoredView>>> => {
  const located = new Map<string, StoredView>()
  /** By key: many tensors may share one. */
  const storages = new Map<string, ByteRange>()
  for (const [name, view] of tensors) {
    const { key } = view.storage
    const needed = storageBytes(view.storage)
    const storage = storages.get(key) ?? (await entries.get(`${folder}data/${key}`)?.())
    if (storage === undefined) return E.left(`lacks the storage ${key} of ${name}`)
    if (storage.bytes !== needed) return E.left(`its storage ${key} of ${name} has ${storage.bytes} bytes where ${needed} are wanted`)
    storages.set(key, storage)
    located.set(name, { view, storage })
  }
  return E.right(located)
}

/** Copies the elements of a view, which stand apart, one after the other. */
const gather = (read: ArrayBuffer, { shape, strides }: TorchTensor, bytes: number): ArrayBuffer => {
  const source = new Uint8Array(read)
  const target = new Uint8Array(shape.reduce((product, extent) => product * extent, bytes))
  let at = 0
  const copy = (axis: number, from: number): void => {
    if (axis === shape.length) {
      for (let byte = 0; byte < bytes; byte += 1) target[at + byte] = source[from * bytes + byte]!
      at += bytes
      return
    }
    for (let index = 0; index < shape[axis]!; index += 1) copy(axis + 1, from + index * strides[axis]!)
  }
  copy(0, 0)
  return target.buffer
}

/** In rows: each stride is the product of the extents after it, but for extents of one. */
const isContiguous = ({ shape, strides }: TorchTensor): boolean =>
  shape.every((extent, axis) => extent === 1 || strides[axis] === elementCount(shape.slice(axis + 1)))

const readView = (path: string, identity: string, name: string, { view, storage }: StoredView, target: Target): Outcome<void> =>
  withSameFile(path, identity, async (file) => {
    const { type } = view.storage
    const fits = checkElements(name, type, elementCount(view.shape), target)
    if (E.isLeft(fits)) return fits
    const bytes = elementBytes[type]
    const read = await readRange(file, name, storage.offset + view.offset * bytes, spannedElements(view) * bytes)
    return E.chain((found: ArrayBuffer) => convertElements(name, type, isContiguous(view) ? found : gather(found, view, bytes), target))(
      read
    )
  })

const pickleName = /^(?:[^/]+\/)?data\.pkl$/

const readZipTensors = async (
  path: string,
  file: FileHandle,
  entries: ReadonlyMap<string, EntryRange>
): Promise<E.Either<string, WeightFile>> => {
  const pickles = [...entries.keys()].filter((name) => pickleName.test(name))
  const [pickle] = pickles
  if (pickle === undefined || pickles.length > 1) return E.left('is a zip file, but not of torch.save: it has no data.pkl, or several')
  const folder = pickle.replace(/data\.pkl$/, '')
  const order = entries.has(`${folder}byteorder`)
    ? await readText(file, 'byteorder', entries.get(`${folder}byteorder`), 16)
    : E.right('little')
  if (E.isLeft(order)) return order
  if (order.right.toString() !== 'little') return E.left('was saved on a machine of another byte order: save it again on this one')
  const read = await readText(file, 'data.pkl', entries.get(pickle), maxPickleBytes)
  const dict = E.chain(readStateDict)(read)
  if (E.isLeft(dict)) return dict
  const { tensors, nested, others } = dict.right
  const identity = await identify(file)
  return E.map((located: ReadonlyMap<string, StoredView>): WeightFile => ({
    path,
    tensors: new Map([...located].map(([name, { view }]) => [name, { type: view.storage.type, shape: view.shape }])),
    read: (name, target) => readView(path, identity, name, located.get(name)!, target),
    metadata: {},
    notices: noticesOf(path, nested, others)
  }))(await locate(folder, entries, tensors))
}

/** A checkpoint may have hundreds. */
const mostListed = 8

const noticesOf = (path: string, nested: string | undefined, others: readonly string[]): readonly string[] => {
  const more = others.length > mostListed ? [`${others.length - mostListed} more`] : []
  const listed = [...others.slice(0, mostListed), ...more].join(', ')
  const leftOut = others.length === 0 ? [] : [`${listed} ${others.length === 1 ? 'is' : 'are'} left out`]
  const found = nested === undefined ? [] : [`the weights are those under ${nested}`]
  return found.length + leftOut.length === 0 ? [] : [`${path}: ${[...found, ...leftOut].join('; ')}`]
}

/**
 * Opens a zip file of `torch.save` (PyTorch from 1.6 on), which holds a state dict of plain
 * tensors, or a checkpoint with one. Nothing in it is run, and what it holds beside tensors is left
 * out. A tensor's elements are read when it is asked for.
 */
export const openTorchFile = (path: string): Outcome<WeightFile> =>
  withFile(path, (file) => withZipEntries(file, (entries) => readZipTensors(path, file, entries)))
