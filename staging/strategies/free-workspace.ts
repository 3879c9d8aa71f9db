import { isConvolutionOp } from '../../dsl/internal'
import type { ConvolutionAlgorithm, DeviceModel } from '../devices/device-model'
import type { Graph } from '../graph/graph'
import type { ConvolutionKernel } from '../kernels/kernels'
import { segmentScratch } from '../lowering/cost/segment-times'
import type { StepGraph } from '../graph/step-graph'
import { getNodeLowering } from '../ops'
import type { Segment } from '../plans/plan'
import { untiled } from '../graph/span'
import { liveTensors } from '../graph/boundary-tensors'
import { wholeGraph } from './plain'
import type { Segmentation } from './strategy'

/** Bytes of scratch with which a convolution's algorithms change, largest first, down to 0. */
type Levels = readonly number[]

/**
 * Of each convolution's kernels, forward and backward, whose algorithms the device lists with the
 * fastest first.
 */
const makeLevels = (graph: StepGraph, device: DeviceModel): ((position: number) => Levels) => {
  let levels = new Set<number>()
  const algorithms = (kernel: ConvolutionKernel): readonly ConvolutionAlgorithm[] => {
    const listed = device.algorithms?.(kernel) ?? []
    let least = Infinity
    for (const { scratchBytes } of listed) if (scratchBytes < least) levels.add((least = scratchBytes))
    return listed
  }
  const scratch = segmentScratch(graph, { ...device, algorithms })
  return (position) => {
    levels = new Set([0])
    scratch({ from: position, to: position + 1, grid: untiled, recompute: false, reorder: 'once', workspace: 0 })
    return [...levels].sort((a, b) => b - a)
  }
}

/**
 * Whether a segment may begin here as if none did: what leaves one before it is not overwritten in
 * place, as a sum overwrites a branch.
 */
const isFree = (graph: Graph, position: number): boolean =>
  liveTensors(graph, position).every((tensor) => {
    const [reader, ...others] = graph.readers[tensor]!
    const node = graph.nodes[reader!]!
    return others.length > 0 || node.inputs[0] !== tensor || !getNodeLowering(node).inPlace
  })

/** Convolutions that share a segment in any case. */
interface Group {
  readonly from: number
  readonly positions: readonly number[]
  readonly levels: Levels
}

const makeGroups = (graph: StepGraph, device: DeviceModel): readonly Group[] => {
  const levelsAt = makeLevels(graph, device)
  return graph.nodes.reduce<readonly Group[]>((groups, { op }, position) => {
    if (!isConvolutionOp(op)) return groups
    const levels = levelsAt(position)
    const before = groups.at(-1)
    if (before === undefined || isFree(graph, position)) return [...groups, { from: position, positions: [position], levels }]
    const both = [...new Set([...before.levels, ...levels])].sort((a, b) => b - a)
    return [...groups.slice(0, -1), { ...before, positions: [...before.positions, position], levels: both }]
  }, [])
}

const within = (levels: Levels, bytes: number): number => levels.find((level) => level <= bytes) ?? 0

/**
 * Everything kept and whole, each convolution with the fastest algorithms in the bytes that are
 * free for it (Yang 2020, section 4.2): a segment for all neighbours that one limit serves.
 * Segments add next to nothing to that.
 */
export const workspacesWithin = (graph: StepGraph, device: DeviceModel): ((free: (position: number) => number) => Segmentation) => {
  const groups = makeGroups(graph, device)
  return (free) => {
    const [whole] = wholeGraph(graph)
    const segments: Segment[] = []
    let sharing: { readonly levels: Levels; readonly own: number }[] = []
    let from = 0
    const close = (to: number): void => {
      segments.push({ ...whole!, from, to, workspace: Math.max(0, ...sharing.map(({ own }) => own)) })
      from = to
      sharing = []
    }
    for (const { from, positions, levels } of groups) {
      const one = { levels, own: within(levels, Math.max(0, Math.min(...positions.map(free)))) }
      const limit = Math.max(one.own, ...sharing.map(({ own }) => own))
      if (sharing.length > 0 && [...sharing, one].some(({ levels, own }) => within(levels, limit) !== own)) close(from)
      sharing.push(one)
    }
    close(graph.nodes.length)
    return segments
  }
}
