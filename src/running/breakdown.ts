import {
  cudnnAlgorithm,
  engineOf,
  fewChannelsAlgorithm,
  isConvolution,
  rotated180Algorithm,
  warpgroupAlgorithm,
  wholeWarpgroupAlgorithm,
  type Kernel,
  type Program
} from '../../staging'
import { launchCounts } from '../plans/program-statistics'
import type { Planned } from '../plans/plan-network'
import { table } from '../text/table'
import { formatMilliseconds, percent } from '../text/format'

/**
 * All launches of one kind of kernel in a step; convolutions by algorithm too, and forward ones by
 * whether a rectifier runs with them.
 */
export interface KernelTime {
  readonly kernel: string
  /** Launched on the engine that loads images, while others compute. */
  readonly beside: boolean
  readonly launches: number
  readonly measuredMs: number
  readonly predictedMs: number
}

const algorithmName = (algorithm: number): string => {
  if (algorithm === 0) return 'direct'
  if (algorithm === 1) return 'Winograd'
  if (algorithm === fewChannelsAlgorithm) return 'over few channels'
  if (algorithm === warpgroupAlgorithm) return 'by warpgroups'
  if (algorithm === wholeWarpgroupAlgorithm) return 'by warpgroups, unshared'
  const engine = engineOf(algorithm)
  if (engine !== undefined) return `cuDNN's engine ${engine}`
  const turned = algorithm - rotated180Algorithm(0)
  return turned >= 0 ? `cuDNN's forward ${turned}` : `cuDNN's ${algorithm - cudnnAlgorithm(0)}`
}

const kernelGroupName = (kernel: Kernel): string => {
  if (!isConvolution(kernel)) return kernel.kind
  const rectifies = kernel.kind === 'convolutionForward' && kernel.slope !== 1
  return `${kernel.kind}, ${algorithmName(kernel.algorithm)}${rectifies ? ', rectified' : ''}`
}

/**
 * Computes where a step's time went, the largest first. `measured`: milliseconds by kernel of the
 * Program, over all micro-steps and the update.
 */
export const computeBreakdown = (
  {
    staged: { program },
    predictedMilliseconds
  }: Pick<Planned, 'predictedMilliseconds'> & { readonly staged: { readonly program: Program } },
  measured: readonly number[],
  microSteps: number
): readonly KernelTime[] => {
  const step = launchCounts(program.step)
  const update = program.update && launchCounts(program.update)
  const loading = launchCounts(program.step, ({ engine }) => engine !== undefined)
  const rows = new Map<string, KernelTime>()
  program.kernels.forEach((kernel, index) => {
    const launches = microSteps * (step.get(index) ?? 0) + (update?.get(index) ?? 0)
    if (launches === 0) return
    const beside = loading.has(index)
    const name = `${kernelGroupName(kernel)}${beside ? ', beside computing' : ''}`
    const row = rows.get(name) ?? { kernel: name, beside, launches: 0, measuredMs: 0, predictedMs: 0 }
    rows.set(name, {
      ...row,
      launches: row.launches + launches,
      measuredMs: row.measuredMs + measured[index]!,
      predictedMs: row.predictedMs + launches * predictedMilliseconds(kernel)
    })
  })
  return [...rows.values()].sort((a, b) => b.measuredMs - a.measuredMs)
}

/**
 * A breakdown as a table, with each kernel's share of the step's milliseconds, and what passed
 * outside of launches that compute: waits for transfers too.
 */
export const breakdownText = (breakdown: readonly KernelTime[], stepMilliseconds: number): string => {
  const sum = breakdown.reduce((total, { beside, measuredMs }) => total + (beside ? 0 : measuredMs), 0)
  const share = (milliseconds: number): string => percent(milliseconds / stepMilliseconds)
  return table(
    ['kernel', 'launches', 'measured', 'predicted', 'share'],
    [
      ...breakdown.map(({ kernel, launches, measuredMs, predictedMs }) => [
        kernel,
        `${launches}`,
        formatMilliseconds(measuredMs),
        formatMilliseconds(predictedMs),
        share(measuredMs)
      ]),
      ['between launches', '', formatMilliseconds(stepMilliseconds - sum), '', share(stepMilliseconds - sum)]
    ]
  )
}
