import { memoizePerObject } from '../memoize'
import type { Graph } from './graph'
import type { Span } from './span'

/**
 * The tensors that a span reads from before it, and those that it makes and something after it
 * reads.
 */
export interface BoundaryTensors {
  readonly inputs: readonly number[]
  readonly outputs: readonly number[]
}

/** Tells whether something from a position on reads a tensor. */
export const isLiveAfter = ({ readers }: Graph, tensor: number, position: number): boolean =>
  readers[tensor]!.some((reader) => reader >= position)

const findBoundaries = (graph: Graph, { from, to }: Span): BoundaryTensors => {
  const read = new Set(graph.nodes.slice(from, to).flatMap(({ inputs }) => inputs.filter((tensor) => tensor <= from)))
  const outputs = Array.from({ length: to - from }, (_, index) => from + 1 + index)
  return {
    inputs: [...read].sort((a, b) => a - b),
    outputs: outputs.filter((tensor) => isLiveAfter(graph, tensor, to))
  }
}

/** The tensors at a span's ends; remembered. */
export const boundaryTensors = memoizePerObject(({ nodes }: Graph, { from, to }: Span) => from * (nodes.length + 1) + to, findBoundaries)

/**
 * The tensors, the network's input left out, that are made before a position and read from there
 * on: of every position at once.
 */
const allCrossing = ({ nodes, readers }: Graph): readonly (readonly number[])[] => {
  let alive: readonly number[] = []
  return [...nodes.keys(), nodes.length].map((position) => {
    const before = position === 0 ? alive : [...alive, position]
    alive = before.filter((tensor) => readers[tensor]!.at(-1)! >= position)
    return alive
  })
}

const knownCrossing = new WeakMap<Graph, readonly (readonly number[])[]>()

/**
 * The tensors, the input left out, that are made before a position and read from there on;
 * remembered.
 */
export const liveTensors = (graph: Graph, position: number): readonly number[] => {
  const known = knownCrossing.get(graph) ?? allCrossing(graph)
  knownCrossing.set(graph, known)
  return known[position]!
}

/** Whether one tensor alone goes on from a position. */
export const isSingleTensorBoundary = (graph: Graph, position: number): boolean =>
  liveTensors(graph, position).every((tensor) => tensor === position)
