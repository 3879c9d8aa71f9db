import * as t from 'io-ts'
import type { DeviceModel } from './device-model'
import { configurationKey } from '../kernels/kernel-configuration'
import type { FieldType } from '../kernels/kernel-fields'
import { layouts } from '../kernels/layout'
import { kernelTable, keyOfKernel, getKernelRow, type Kernel, type KernelKind } from '../kernels/kernels'
import { milliseconds, rate } from '../decoding/magnitudes'

const count = t.refinement(t.number, (value) => Number.isSafeInteger(value) && value > 0, 'a whole number above 0')

/** Times of single launches. `kernel`: its kind and its fields by name. */
export const profileTimes = t.readonlyArray(
  t.readonly(t.type({ kernel: t.readonly(t.record(t.string, t.union([t.string, t.number, t.readonlyArray(t.number)]))), milliseconds }))
)

/**
 * What a device was measured to take: milliseconds of single launches, and the link's bytes a
 * second.
 */
export const deviceProfile = t.readonly(
  t.type({
    device: t.string,
    /**
     * What the times depend on beside the kernel: library, version and instruction set, in one
     * string.
     */
    library: t.string,
    threads: count,
    linkBytesPerSecond: t.readonly(t.type({ toDevice: rate, toHost: rate })),
    kernels: profileTimes
  })
)

/**
 * Milliseconds of single launches that were measured on a device, and its link's bytes a second.
 */
export type Profile = t.TypeOf<typeof deviceProfile>

/**
 * How a kernel's time was found: measured; from others of its configuration, of about its size
 * (interpolated) or not (extrapolated); by the roofline alone.
 */
export type TimeSource = 'measured' | 'interpolated' | 'extrapolated' | 'roofline'

/** Sizes this close, as a logarithm of modelled times, run at the same rate. */
const nearSize = 0.1

/**
 * A kernel is measured for all of its configuration whose sizes are this close: between measured
 * ones lie factors of 1.14 to 1.3.
 */
const sampledSize = Math.log(1.3) / 2

interface Point {
  /** Logarithm of the time that the base model gives: how large the kernel is. */
  readonly size: number
  /** Measured over modelled time. */
  readonly ratio: number
}

/**
 * Milliseconds of a launch that may be no part of its work: threads that wake, caches that are
 * cold. They do not grow with a kernel.
 */
const launchMilliseconds = 0.02

/**
 * The ratio of a measured kernel at another size. A smaller kernel has the same, of a larger one
 * what may be launching weighs ever less.
 */
const ratioAt = ({ size, ratio }: Point, wanted: number): number => {
  if (wanted <= size) return ratio
  const ofWork = Math.max(Math.min(1, ratio), ratio - launchMilliseconds / Math.exp(size))
  return ofWork + (ratio - ofWork) * Math.exp(size - wanted)
}

/** How far the nearest point is from a size; Infinity where there is none. */
const nearestDistance = (points: readonly Point[], size: number): number =>
  points.reduce((least, point) => Math.min(least, Math.abs(point.size - size)), Infinity)

/** Between two sizes the ratio changes evenly; beyond the ends it is that of the last kernel. */
const interpolate = (points: readonly Point[], size: number): number => {
  const after = points.findIndex((point) => point.size >= size)
  if (after === -1) return ratioAt(points[points.length - 1]!, size)
  if (after === 0) return points[0]!.ratio
  const [low, high] = [points[after - 1]!, points[after]!]
  const share = (size - low.size) / (high.size - low.size)
  return low.ratio + share * (high.ratio - low.ratio)
}

/** Width of what counts as about a size where configurations are mixed, as a logarithm. */
const mixedWidth = 0.7

/** So far from all that was measured, as a logarithm, the base model says as much as they do. */
const modelDistance = 2.5

/**
 * The mean ratio of other configurations about a size (Nadaraya-Watson, over logarithms): what
 * lies side by side there may differ by much. Far from all of them the base model is as good: small
 * kernels may be slow where large ones are not.
 */
const smooth = (points: readonly Point[], size: number): number => {
  const nearest = nearestDistance(points, size)
  let [weights, sum] = [Math.exp((nearest ** 2 - modelDistance ** 2) / (2 * mixedWidth ** 2)), 0]
  for (const point of points) {
    // Relative to the nearest, whose weight is then 1 however far away it is.
    const weight = Math.exp((nearest ** 2 - (point.size - size) ** 2) / (2 * mixedWidth ** 2))
    weights += weight
    sum += weight * Math.log(ratioAt(point, size))
  }
  return Math.exp(sum / weights)
}

/** How far a size lies beyond the smallest or the largest of points; 0 between them. */
const distanceBeyond = (points: readonly Point[], size: number): number =>
  Math.max(0, points[0]!.size - size, size - points[points.length - 1]!.size)

/**
 * The ratio by a kernel's own configuration, and far beyond its sizes by others that are nearer:
 * what many weights cost four tiles says little of what they cost a thousand.
 */
const extrapolate = (own: readonly Point[], others: readonly Point[], size: number): number => {
  const ratio = interpolate(own, size)
  if (others.length === 0) return ratio
  const nearest = nearestDistance(others, size)
  const weight = Math.exp((distanceBeyond(own, size) ** 2 - nearest ** 2 - modelDistance ** 2) / (2 * mixedWidth ** 2))
  // Far beyond own sizes the weight is infinite, of which shares leave a number.
  const share = 1 / (1 + weight)
  return ratio ** share * smooth(others, size) ** (1 - share)
}

/** Kernels that run by the same code: of one kind, and of one algorithm where there are several. */
const familyKey = (kernel: Kernel): string => `${kernel.kind} ${'algorithm' in kernel ? kernel.algorithm : 0}`

const groupBy = <A>(items: readonly A[], keyOf: (item: A) => string): ReadonlyMap<string, readonly A[]> => {
  const groups = new Map<string, A[]>()
  for (const item of items) groups.set(keyOf(item), [...(groups.get(keyOf(item)) ?? []), item])
  return groups
}

/** A device model whose times come from measured ones, and which tells how. */
export interface ProfiledModel extends DeviceModel {
  readonly sourceOf: (kernel: Kernel) => TimeSource
  /**
   * How far the nearest measured size of a kernel's configuration is, as a logarithm of modelled
   * times: 0 of a measured one, Infinity where none of its configuration was measured.
   */
  readonly distanceOf: (kernel: Kernel) => number
  /**
   * Given kernels, those that matter most first: which ones to measure so that the others' times
   * follow from them and what was measured. One of each kind and algorithm that nothing was
   * measured of comes first.
   */
  readonly sample: <K extends Kernel>(kernels: readonly K[]) => readonly K[]
}

/** More along an axis than any kernel has: a model of its time goes through all of them. */
const mostTaps = 2 ** 16

/** Refuses fields of another version's kernels, and those of none. */
export const isKernel = (kernel: Readonly<Record<string, unknown>>): kernel is Readonly<Record<string, unknown>> & Kernel => {
  const { kind, ...fields } = kernel
  const known = typeof kind === 'string' && Object.hasOwn(kernelTable, kind) ? getKernelRow(kind as KernelKind).fields : undefined
  const isField = ([field, type]: readonly [string, FieldType]): boolean => {
    const value = fields[field]
    if (type === 'numbers') return Array.isArray(value)
    if ((field === 'kernelHeight' || field === 'kernelWidth') && !(Number(value) <= mostTaps)) return false
    return typeof value === 'number' && (type !== 'layout' || layouts[value] !== undefined)
  }
  return known !== undefined && Object.keys(known).length === Object.keys(fields).length && Object.entries(known).every(isField)
}

/**
 * The base model with measured times. A kernel that was not measured takes what the base model (a
 * roofline) says, times the ratio of measured to modelled time of its configuration at its size;
 * beyond the largest without what may be launching. Far beyond those, other configurations of its
 * kind and algorithm count that were measured about its size.
 * Where none of its configuration was measured the mean ratio of its kind and algorithm about its
 * size counts, or of its kind; far from all that was measured the base model.
 */
export const withProfile = (
  base: DeviceModel,
  { kernels, linkBytesPerSecond }: Pick<Profile, 'kernels' | 'linkBytesPerSecond'>
): ProfiledModel => {
  const measured = kernels
    .flatMap(({ kernel, milliseconds }) => {
      if (!isKernel(kernel)) return []
      const modelled = base.milliseconds(kernel)
      return [{ kernel, milliseconds, point: { size: Math.log(modelled), ratio: milliseconds / modelled } }]
    })
    // A file may hold kernels of sizes that no time can be told for.
    .filter(({ point: { size, ratio } }) => Number.isFinite(size) && Number.isFinite(ratio))
  const exact = new Map(measured.map(({ kernel, milliseconds }) => [keyOfKernel(kernel), milliseconds]))
  const pointsBy = (keyOf: (kernel: Kernel) => string): ReadonlyMap<string, readonly Point[]> =>
    new Map(
      [...groupBy(measured, ({ kernel }) => keyOf(kernel))].map(([key, group]) => [
        key,
        group.map(({ point }) => point).sort((a, b) => a.size - b.size)
      ])
    )
  const [byConfiguration, families, kinds] = [pointsBy(configurationKey), pointsBy(familyKey), pointsBy(({ kind }) => kind)]
  const known = new Map<string, number>()
  const nearTime = (kernel: Kernel): number => {
    const modelled = base.milliseconds(kernel)
    const size = Math.log(modelled)
    const own = byConfiguration.get(configurationKey(kernel)) ?? []
    const others = (families.get(familyKey(kernel)) ?? kinds.get(kernel.kind) ?? []).filter((point) => !own.includes(point))
    if (own.length > 0) return modelled * extrapolate(own, others, size)
    return others.length > 0 ? modelled * smooth(others, size) : modelled
  }
  const distanceOf = (kernel: Kernel): number => {
    if (exact.has(keyOfKernel(kernel))) return 0
    return nearestDistance(byConfiguration.get(configurationKey(kernel)) ?? [], Math.log(base.milliseconds(kernel)))
  }
  return {
    ...base,
    linkBytesPerSecond,
    ...(base.copyBytesPerSecond !== undefined && { copyBytesPerSecond: linkBytesPerSecond }),
    milliseconds: (kernel) => {
      const key = keyOfKernel(kernel)
      const time = exact.get(key) ?? known.get(key) ?? nearTime(kernel)
      known.set(key, time)
      return time
    },
    distanceOf,
    sourceOf: (kernel) => {
      if (exact.has(keyOfKernel(kernel))) return 'measured'
      const distance = distanceOf(kernel)
      return distance < nearSize ? 'interpolated' : distance < Infinity ? 'extrapolated' : 'roofline'
    },
    sample: (kernels) => {
      const covered = new Map([...byConfiguration].map(([configuration, points]) => [configuration, points.map(({ size }) => size)]))
      const apart = kernels.filter((kernel) => {
        const [configuration, size] = [configurationKey(kernel), Math.log(base.milliseconds(kernel))]
        const sizes = covered.get(configuration) ?? []
        if (sizes.some((other) => Math.abs(other - size) <= sampledSize)) return false
        covered.set(configuration, [...sizes, size])
        return true
      })
      // Of what runs by other code nothing is known: one of each tells of many small ones.
      const firsts = new Map(apart.map((kernel) => [familyKey(kernel), kernel] as const).reverse())
      const isFirst = (kernel: Kernel): boolean => !families.has(familyKey(kernel)) && firsts.get(familyKey(kernel)) === kernel
      return [...apart.filter(isFirst), ...apart.filter((kernel) => !isFirst(kernel))]
    }
  }
}
