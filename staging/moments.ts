import type { Graph } from './graph'

/** The moments of a step in words, in order: each layer forward as it runs, then backward from the last one on. */
export const allMoments = ({ nodes }: Pick<Graph, 'nodes'>): readonly string[] => [
  ...nodes.map(({ name }) => `forward ${name}`),
  ...nodes.map(({ name }) => `backward ${name}`).reverse()
]

export const momentText = (graph: Pick<Graph, 'nodes'>, moment: number): string => allMoments(graph)[moment]!
