import { elementSizes } from '../kernels/precision'
import type { Address, Offset } from '../program/address'
import type { Instruction, Program } from '../program/program'
import type { ProgramBuffer } from '../program/program-buffer'
import type { AllToAll, Exchange, Message } from '../program/rank-instructions'
import { sizeOf } from './own-boxes'

type CopyBox = Extract<Program['kernels'][number], { readonly kind: 'copyBox' }>

/** A copy between a tensor and what is packed for another rank, or comes packed from it. */
interface PackingCopy {
  readonly place: number
  readonly box: CopyBox
  readonly buffer: ProgramBuffer
  /** Bytes from the tensor's beginning. */
  readonly offset: number
  readonly strides: readonly number[]
  readonly packedStrides: readonly number[]
}

/** The copies of a section's code, of which no loop holds any that packs. */
export interface PackingCopies {
  readonly program: Program
  /** By the place of what is packed. */
  readonly into: ReadonlyMap<string, readonly PackingCopy[]>
  readonly outOf: ReadonlyMap<string, readonly PackingCopy[]>
}

const placeKey = ({ buffer, base }: Offset): string => `${buffer},${base}`

/** Lists all copies that may pack what goes to other ranks, or take what comes of them. */
export const listPackingCopies = (program: Program, code: readonly Instruction[]): PackingCopies => {
  const { kernels, buffers } = program
  const [into, outOf] = [new Map<string, PackingCopy[]>(), new Map<string, PackingCopy[]>()]
  code.forEach((one, place) => {
    const box = one.kind === 'launch' ? kernels[one.kernel] : undefined
    if (one.kind !== 'launch' || box?.kind !== 'copyBox') return
    const [source, destination] = one.operands as readonly [Address, Address]
    const ofSource = [box.sourceStride0, box.sourceStride1, box.sourceStride2]
    const ofDestination = [box.destinationStride0, box.destinationStride1, box.destinationStride2]
    const add = (
      to: Map<string, PackingCopy[]>,
      [tensor, packed]: readonly Address[],
      [strides, packedStrides]: readonly number[][]
    ): void => {
      const buffer = buffers[tensor!.buffer ?? -1]
      if (buffer === undefined) return
      const copy = { place, box, buffer, offset: tensor!.base - buffer.offset, strides: strides!, packedStrides: packedStrides! }
      to.set(placeKey(packed!), [...(to.get(placeKey(packed!)) ?? []), copy])
    }
    add(into, [source, destination], [ofSource, ofDestination])
    add(outOf, [destination, source], [ofDestination, ofSource])
  })
  return { program, into, outOf }
}

/** The one copy into, or out of, the place of a message; undefined where there is no such. */
const findCopy = (copies: ReadonlyMap<string, readonly PackingCopy[]>, { at }: Pick<Message, 'at'>): PackingCopy | undefined => {
  const found = copies.get(placeKey(at))
  return found?.length === 1 ? found[0] : undefined
}

/** Whether repetitions lie so many elements apart, as far as there are any. */
const liesApart = (counts: readonly number[], strides: readonly number[], wanted: readonly number[]): boolean =>
  counts.every((count, level) => count === 1 || strides[level] === wanted[level])

const rowsText = (tensor: string, image: number, images: number, row: number, rows: number): string =>
  `rows ${row} .. ${row + rows} of images ${image} .. ${image + images} of "${tensor}"`

/** What of which tensor a copy takes, in the tensor's own rows; undefined where that is no rows. */
const contentText = (program: Program, { box, buffer, offset, strides, packedStrides }: PackingCopy): string | undefined => {
  const { n0, n1, n2, n3 } = box
  const { activationBytes, parameterBytes } = elementSizes(program.precision)
  const elementBytes = box.ofParameters === 1 ? parameterBytes : activationBytes
  if (!liesApart([n0, n1, n2], packedStrides, [n1 * n2 * n3, n2 * n3, n3])) return undefined
  if (buffer.share?.kind !== 'part') return undefined
  const { held, rowBytes } = buffer.share
  const [imageBytes, planeBytes] = [buffer.bytes / sizeOf(held.images), sizeOf(held.rows) * rowBytes]
  const [image, rest] = [Math.floor(offset / imageBytes), offset % imageBytes]
  const isInRows =
    rest < planeBytes &&
    rest % rowBytes === 0 &&
    n3 * elementBytes === rowBytes &&
    n1 * planeBytes === imageBytes &&
    liesApart(
      [n0, n1, n2],
      strides.map((stride) => stride * elementBytes),
      [imageBytes, planeBytes, rowBytes]
    )
  if (!isInRows) return undefined
  return rowsText(buffer.name, held.images[0] + image, n0, held.rows[0] + rest / rowBytes, n2)
}

/** Whether what comes is added as it must be: gradients are, and rows are copied. */
const isTakenRightly = ({ box, buffer: { role } }: PackingCopy): boolean => box.add === (role === 'output-gradient' ? 1 : 0)

/** Rows of which tensor a message holds; nothing where no one copy of whole rows packs it. */
export const packedContent = ({ program, into }: PackingCopies, message: Pick<Message, 'at'>): { readonly content?: string } => {
  const packed = findCopy(into, message)
  const content = packed && contentText(program, packed)
  return content === undefined ? {} : { content }
}

/** Rows of which tensor a message is taken as, and how; nothing where no one copy of them does. */
export const takenContent = (
  { program, outOf }: PackingCopies,
  message: Message
): { readonly content?: string; readonly isAdded?: boolean; readonly isAddedRightly?: boolean } => {
  const taken = findCopy(outOf, message)
  const content = taken && contentText(program, taken)
  if (taken === undefined || content === undefined) return {}
  return { content, isAdded: taken.box.add === 1, isAddedRightly: isTakenRightly(taken) }
}

/** All of a tensor, of which each rank has as many images and rows. */
export interface GatheredRows {
  readonly tensor: string
  /** Of each part, of which `rowParts` follow each other in an image. */
  readonly images: number
  readonly rows: number
  readonly imageParts: number
  readonly rowParts: number
}

/** As what the parts of all ranks are taken; undefined where no one copy takes them as a tensor. */
export const takenParts = ({ program, outOf }: PackingCopies, { receive, bytes }: AllToAll): GatheredRows | undefined => {
  const one = findCopy(outOf, { at: receive })
  if (one === undefined || one.buffer.share?.kind !== 'part' || one.offset !== 0 || one.box.add === 1) return undefined
  const { box, buffer, strides, packedStrides } = one
  const { n0, n1, n2, n3 } = box
  const { held, of, rowBytes } = one.buffer.share
  const elementBytes = elementSizes(program.precision).activationBytes
  const [imageBytes, planeBytes, runBytes] = [buffer.bytes / of.images, of.rows * rowBytes, n3 * elementBytes]
  const [rows, images] = [runBytes / rowBytes, (n2 * planeBytes) / imageBytes]
  const isDense = box.ofParameters === 0 && n2 * runBytes === bytes && liesApart([n0, n1, n2], packedStrides, [n1 * n2 * n3, n2 * n3, n3])
  const isWhole =
    sizeOf(held.images) === of.images &&
    sizeOf(held.rows) === of.rows &&
    [rows, images].every(Number.isInteger) &&
    n0 * images === of.images &&
    n1 * rows === of.rows &&
    liesApart(
      [n0, n1, n2],
      strides.map((stride) => stride * elementBytes),
      [images * imageBytes, runBytes, planeBytes]
    )
  return isDense && isWhole ? { tensor: buffer.name, images, rows, imageParts: n0, rowParts: n1 } : undefined
}

/** The part of a rank, as `packedContent` says it. */
export const partText = ({ tensor, images, rows, rowParts }: GatheredRows, rank: number): string =>
  rowsText(tensor, Math.floor(rank / rowParts) * images, images, (rank % rowParts) * rows, rows)

/** Whether a rank takes what comes in the order of ranks, as sums of gradients need. */
export const isTakenInOrder = ({ outOf }: PackingCopies, { receives }: Exchange): boolean => {
  const places = receives.map((message) => findCopy(outOf, message)?.place ?? -1)
  return places.every((place, index) => index === 0 || places[index - 1]! < place)
}
