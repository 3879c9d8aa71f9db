import * as E from 'fp-ts/Either'
import { elementSizes } from '../kernels/precision'
import type { Pages, Program } from '../program/program'
import { isCount } from './accesses'
import { chooseCoordinates, type Coordinates } from './boxes'
import type { Access, Event, ProgramEvents, SectionEvents, Store } from './events'
import { catchFault, type VerifierFault } from './fault'
import { operandRegions } from './operand-regions'
import { readInstructions } from './section-events'
import { listSections } from './sections'
import { spaceNames, listStores } from './stores'

/**
 * Bytes from image to image, where an access tells them. Loops over tiles of several images, or
 * over every other tile, advance by more: other tiles would carry into boxes of such strides.
 */
const imageStride = ({ repeats, run, strides: [stride] }: Access): number => {
  const [outermost = { count: run, stride: 1 }] = repeats
  return stride % (outermost.count * outermost.stride) === 0 ? outermost.stride : stride
}

/**
 * Strides that make boxes of the accesses: those between repetitions first, then those between
 * images; other loops advance by multiples of them.
 */
const coordinatesFor = (stores: readonly Store[], sections: readonly SectionEvents[]): readonly Coordinates[] => {
  const wanted = stores.map((): readonly [Set<number>, Set<number>, Set<number>] => [new Set(), new Set(), new Set()])
  const gather = (events: readonly Event[]): void => {
    for (const event of events)
      if (event.kind === 'loop') gather(event.body)
      else if (event.kind === 'access')
        for (const access of event.accesses) {
          const [repeated, images, single] = wanted[access.store]!
          for (const { count, stride } of access.repeats) (count > 1 ? repeated : single).add(stride)
          images.add(imageStride(access))
        }
  }
  sections.forEach(({ events }) => gather(events))
  return stores.map(({ bytes }, store) =>
    chooseCoordinates(
      bytes,
      wanted[store]!.flatMap((strides) => [...strides].sort((a, b) => a - b))
    )
  )
}

const isSane = ({ pageBytes, addressBytes, residentBytes }: Pages, peakBytes: number): boolean =>
  isCount(pageBytes) &&
  [addressBytes, residentBytes, peakBytes].every((bytes) => Number.isSafeInteger(bytes) && bytes >= 0 && bytes % pageBytes === 0) &&
  residentBytes <= Math.min(addressBytes, peakBytes)

/** Every section as events over stores, or why some access does not lie where it says. */
export const programEvents = (program: Program): E.Either<VerifierFault, ProgramEvents> => {
  const { stores, stepIoStores } = listStores(program)
  for (const space of ['arena', 'host'] as const) {
    const buffers = space === 'arena' ? program.buffers : program.hostBuffers
    const outside = buffers.find(({ offset, bytes }) => !(Number.isSafeInteger(offset) && offset >= 0 && isCount(bytes)))
    if (outside !== undefined)
      return E.left({ kind: 'form', message: `the buffer "${outside.name}" has no place in ${spaceNames[space]}.`, buffer: outside.name })
  }
  if (program.pages !== undefined && !isSane(program.pages, program.peakBytes))
    return E.left({ kind: 'form', message: "the Program's pages, addresses and memory are no whole numbers of pages." })
  return catchFault(() => {
    const kernels = program.kernels.map((kernel) => operandRegions(kernel, elementSizes(program.precision)))
    const sections = listSections(program).map(([name, { code, stepIoBytes }], index): SectionEvents => {
      const stepIo = stepIoStores[index]!
      return { name, events: readInstructions({ name, program, stores, kernels, stepIo, stepIoBytes }, code), stepIo }
    })
    return { stores, sections, coordinates: coordinatesFor(stores, sections) }
  })
}
