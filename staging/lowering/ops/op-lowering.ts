import type { ArgsOf, Op } from '../../../dsl'
import type { AccessRule } from '../../access'
import type { Node, Parameter } from '../../graph'
import type { Layout } from '../../layout'
import type { Context, Step, StepGradients } from '../context'

export type NodeFor<P extends Op> = Extract<Node, { readonly op: P }>

/** All that staging declares of an op: what it reads, what it learns, and how it runs forward on a tile and back. */
export interface OpLowering<P extends Op> {
  /** The same for all of its inputs. */
  readonly access: AccessRule<P>
  /** None where it is absent. */
  readonly parameters?: (args: ArgsOf<P>, inChannels: number) => readonly Omit<Parameter, 'name'>[]
  /** Of forward, per element of its output, on average; 0 where it is absent. */
  readonly multiplyAdds?: (node: NodeFor<P>) => number
  /** What backward reads besides the output's gradient, the input perhaps for weights that learn only; the rest need not be kept. */
  readonly saves: { readonly input?: 'always' | 'for-weights'; readonly output?: true; readonly winners?: true }
  /** Forward may overwrite its first input, and backward its output's gradient. */
  readonly inPlace: boolean
  /** Whether forward adds to its output, which is zeroed first. */
  readonly accumulates?: (args: ArgsOf<P>) => boolean
  /** A rectifier that backward knows by its output's sign: an op before it that can applies it. */
  readonly slope?: (args: ArgsOf<P>) => number
  /** Applies the rectifier that is its only reader, in the same go. */
  readonly fusesRectifier?: true
  /** The gradient of every input is that of the output. */
  readonly passesGradient?: true
  readonly outputLayout: (context: Pick<Context, 'device'>, source: Layout, node: NodeFor<P>) => Layout
  readonly forward: (context: Context, step: Step<NodeFor<P>>) => void
  readonly backward: (context: Context, step: Step<NodeFor<P>>, gradients: StepGradients) => void
}

export const sameLayout = (_: unknown, source: Layout): Layout => source
export const plainLayout = (): Layout => 'plain'

/** A weight of this shape, and one bias an output channel. */
export const weightAndBias = (shape: readonly number[], out: number, bias = true): readonly Omit<Parameter, 'name'>[] => [
  { role: 'weight', shape },
  ...(bias ? [{ role: 'bias' as const, shape: [out] }] : [])
]
