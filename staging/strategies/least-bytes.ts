import type { DeviceModel } from '../devices/device-model'
import { extentsOfTensor } from '../graph/graph'
import { meshShard } from '../graph/shard'
import type { StepGraph } from '../graph/step-graph'
import { readsWhole } from '../graph/reads-whole'
import { activationElements } from '../kernels/layout'
import type { ModelScope } from '../lowering/scope/scope'
import { createPool } from '../lowering/ir/builder'
import { createModelScope } from '../lowering/segment/create-scope'
import { transformablePositions } from '../lowering/segment/winograd'
import { createPasses, segmentPasses, withAllOnLoad } from '../lowering/tile/pass'
import { alignUp } from '../placement/placement'
import { boundaryTensors, isLiveAfter } from '../graph/boundary-tensors'
import { segmentTiling } from '../graph/tiling'
import { untiled, type Span } from '../graph/span'
import { leastWeights } from './sft/least-weights'
import type { Segment } from '../plans/plan'
import type { Segmentation, Variant } from './strategy'

/**
 * Bytes of each tensor as a step without tiles holds it: where strides leave something out, it need
 * not be there.
 */
export const tensorBytes = ({ graph, layouts, activationBytes }: ModelScope): readonly number[] => {
  const { shard, ...alone } = graph
  const parts = shard && meshShard(shard).parts
  const { B, H, W } = segmentTiling(alone, { from: 0, to: graph.nodes.length }, untiled)!
  return layouts.map((layout, tensor) => {
    const [b, h, w] = [B, H, W].map(([run]) => run!.held.get(tensor)!).map(({ from, to }) => to - from)
    // Where padding or gaps lie unevenly a part may have a single one.
    const [images, rows] = parts === undefined ? [b!, h!] : [parts.B.count > 1 ? 1 : b!, parts.H.count > 1 ? 1 : h!]
    return activationElements(layout, [images, extentsOfTensor(graph, tensor)[1], rows, w!]) * activationBytes
  })
}

/** Bytes of the largest tensor of a step without tiles. */
export const largestTensorBytes = (graph: StepGraph, device: DeviceModel): number =>
  Math.max(...tensorBytes(createModelScope(graph, device, createPool())))

/** Bytes of the largest layer's gradient, or of its weights as backward reads them in any way. */
export const largestLayerBytes = (graph: StepGraph, device: DeviceModel): number => {
  const scope = createModelScope(graph, device, createPool())
  const [weightsOf, byWinograd] = [leastWeights(scope), new Set(transformablePositions(scope))]
  const leastOf = (position: number): number => {
    const winograd = [position]
    const ways: readonly Variant[] = byWinograd.has(position) ? [{}, { winograd }, { winograd, slicedWinograd: winograd }] : [{}]
    return Math.min(...ways.map((way) => weightsOf({ from: position, to: position + 1 }, way).whole))
  }
  return graph.nodes.reduce((most, _, position) => Math.max(most, leastOf(position)), 0)
}

/** Bytes of what the backward of a segment without tiles reads of what the segment makes. */
export interface ReadBytes {
  readonly all: number
  /** Bytes that nothing after the segment reads. */
  readonly own: number
  /** How many tensors they are of. */
  readonly count: number
}

/** Estimates, for any span of a model, the bytes that its backward reads of its own tensors. */
export const readBytesEstimator = (scope: ModelScope): ((span: Span) => ReadBytes) => {
  const sizes = tensorBytes(scope)
  const { graph } = scope
  return ({ from, to }) => {
    const passes = createPasses(scope, withAllOnLoad(scope, { from, to }))
    const [{ readsInput }, { joinOf }] = [passes('recompute'), passes('keep')]
    const isRead = (tensor: number): boolean =>
      graph.readers[tensor]!.some((reader) => from <= reader && reader < to && readsInput(reader, tensor))
    let [all, own, count] = [0, 0, 0]
    for (let tensor = from + 1; tensor <= to; tensor++) {
      // What lies in another tensor is there with that.
      if (!isRead(tensor) || joinOf(tensor) !== undefined) continue
      all += alignUp(sizes[tensor]!)
      if (isLiveAfter(graph, tensor, to)) continue
      own += alignUp(sizes[tensor]!)
      count++
    }
    return { all, own, count }
  }
}

/**
 * Estimates, for parts of a segment without tiles, the bytes of what the ops before each of them
 * read backward of what the segment makes before it: they are there until these ops run backward.
 */
export const heldBytesEstimator = (scope: ModelScope): ((segment: Segment, parts: readonly Span[]) => readonly number[]) => {
  const sizes = tensorBytes(scope)
  const { graph } = scope
  const isWhole = graph.nodes.map(readsWhole)
  return (segment, parts) => {
    const { from, to, recompute } = segment
    const { readsInput, joinOf } = createPasses(scope, segment)(recompute ? 'recompute' : 'keep')
    /** The tensor in which one lies. */
    const outermost = (tensor: number): number => {
      const join = joinOf(tensor)
      return join === undefined ? tensor : outermost(join + 1)
    }
    const held = parts.map(() => new Set<number>())
    for (let tensor = from + 1; tensor < to; tensor++) {
      const reader = graph.readers[tensor]!.find(
        (position) => from <= position && position < to && isWhole[position]! && readsInput(position, tensor)
      )
      if (reader === undefined) continue
      // The op with which a part begins runs backward last of those after it.
      parts.forEach((part, place) => {
        if (tensor <= part.from && reader < part.from + Number(tensor === part.from)) held[place]!.add(outermost(tensor))
      })
    }
    /** Of a tensor that is made after a part begins, what the part itself does not hold. */
    const outside = (part: Span, tensor: number): number => {
      if (tensor < part.to || isLiveAfter(graph, tensor, to)) return 0
      let inside = 0
      for (let own = part.from + 1; own < part.to; own++) if (outermost(own) === tensor) inside = Math.max(inside, sizes[own]!)
      return alignUp(sizes[tensor]!) - alignUp(inside)
    }
    return parts.map((part, place) =>
      [...held[place]!].reduce((sum, tensor) => sum + (tensor <= part.from ? alignUp(sizes[tensor]!) : outside(part, tensor)), 0)
    )
  }
}

/**
 * Bytes that a segmentation without tiles cannot do without, whatever runs it and wherever buffers
 * lie: when a segment's backward begins, all that it reads of what the segment makes is there; in
 * it a layer's gradient or weights are; and what all is computed of that is still to be computed
 * again.
 */
export const leastBytesEstimator = (graph: StepGraph, device: DeviceModel, residentBytes: number): ((segments: Segmentation) => number) => {
  const scope = createModelScope(graph, device, createPool())
  const sizes = tensorBytes(scope)
  const sum = (tensors: Iterable<number>): number => [...tensors].reduce((bytes, tensor) => bytes + alignUp(sizes[tensor]!), 0)
  const [readBytes, weightsOf] = [readBytesEstimator(scope), leastWeights(scope)]
  return (segments) => {
    const again = new Set<number>()
    let least = 0
    for (const segment of segments) {
      const { from, to, recompute } = segment
      const pass = segmentPasses(scope, segment, new Set())(recompute ? 'recompute' : 'keep')
      least = Math.max(least, sum(again) + Math.max(readBytes(segment).all, weightsOf(segment, segment).whole))
      if (recompute)
        for (const tensor of boundaryTensors(graph, { from, to }).inputs) if (tensor > 0 && pass.isRead(tensor)) again.add(tensor)
    }
    return residentBytes + least
  }
}
