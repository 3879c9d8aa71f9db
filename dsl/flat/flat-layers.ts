import type { AnyLayer, ContainerArguments, Layers, DirectiveArguments, OpArguments } from '../arguments'
import { isDirective } from '../shapes/segment'

interface FlatArguments extends OpArguments, DirectiveArguments {}

/** The position of a flattened layer: its name, inputs and surrounding block. */
interface LayerPosition {
  /** "features.0" */
  readonly name: string
  /**
   * The tensors that it reads, of a directive the one that it stands at. Tensor 0 is the net's
   * input, tensor k the output of the k-th op of the flattened list; directives make none.
   */
  readonly inputs: readonly number[]
  /** The tensor with which the innermost block around it starts; absent outside of blocks. */
  readonly block?: number
}

/** An op or a directive. */
export type FlatLayer = {
  [P in keyof FlatArguments]: LayerPosition & { readonly op: P; readonly args: FlatArguments[P] }
}[keyof FlatArguments]

/** The layers of one list, and of the blocks in it, which add nothing to names. */
interface Namespace {
  readonly prefix: string
  places: number
  readonly joins: { add: number; concat: number; mul: number }
}

const isBlock = (op: AnyLayer['op']): boolean => op === 'residual' || op === 'gated' || op === 'parallel'

const createNamespace = (prefix: string): Namespace => ({ prefix, places: 0, joins: { add: 0, concat: 0, mul: 0 } })

/**
 * The ops and directives of a list in order, containers expanded: of a residual its main's layers,
 * then its shortcut's, then `add`; of a gated its main's, its gate's, then `mul`; of a parallel its
 * branches', then `concat`. A layer is named by its place among its siblings, as in
 * torch.nn.Sequential, or by the name it was given; directives take no place. The layers of a block
 * are named as if they stood in the list around it, counted through its branches; its join is named
 * add, mul or concat, those after the first with a number: add1.
 */
export const flatLayers = (layers: Layers): readonly FlatLayer[] => {
  const flat: FlatLayer[] = []
  let tensors = 0

  /** Appends an op and returns the tensor that it makes. */
  const append = (op: string, args: unknown, name: string, inputs: readonly number[], block: number | undefined): number => {
    flat.push({ name, op, args, inputs, ...(block !== undefined && { block }) } as FlatLayer)
    return isDirective(op) ? inputs[0]! : ++tensors
  }
  const placeList = (members: Layers, space: Namespace, from: number, block: number | undefined): number =>
    members.reduce((tensor, member) => placeLayer(member, space, tensor, block), from)
  const placeJoin = (
    op: 'add' | 'concat' | 'mul',
    branches: readonly Layers[],
    space: Namespace,
    from: number,
    block: number | undefined
  ): number => {
    const inputs = branches.map((branch) => placeList(branch, space, from, from))
    const earlier = space.joins[op]++
    return append(op, {}, `${space.prefix}${op}${earlier === 0 ? '' : earlier}`, inputs, block)
  }
  const placeLayer = (layer: AnyLayer, space: Namespace, from: number, block: number | undefined): number => {
    if (isBlock(layer.op)) return placeContainer(layer, space, from, block)
    const given = 'name' in layer.args ? layer.args.name : undefined
    const name = `${space.prefix}${given ?? space.places}`
    if (!isDirective(layer.op)) space.places++
    return placeNamed(layer, name, from, block)
  }
  const placeNamed = (layer: AnyLayer, name: string, from: number, block: number | undefined): number =>
    layer.op === 'named'
      ? placeNamed((layer.args as ContainerArguments['named']).layer, name, from, block)
      : layer.op === 'seq' || isBlock(layer.op)
        ? placeContainer(layer, createNamespace(`${name}.`), from, block)
        : append(layer.op, layer.args, name, [from], block)
  const placeContainer = (layer: AnyLayer, space: Namespace, from: number, block: number | undefined): number => {
    const args = layer.args as ContainerArguments['seq' | 'residual' | 'gated' | 'parallel']
    return 'layers' in args
      ? placeList(args.layers, space, from, block)
      : 'branches' in args
        ? placeJoin('concat', args.branches, space, from, block)
        : 'gate' in args
          ? placeJoin('mul', [args.main, args.gate], space, from, block)
          : placeJoin('add', [args.main, args.shortcut], space, from, block)
  }

  placeList(layers, createNamespace(''), 0, undefined)
  return flat
}
