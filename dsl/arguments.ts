/** Every layer as data: ops, directives and containers with their options. */
import type { Op, OpArguments } from './ops'

export type { Op, OpArguments }

/** The options of `checkpoint`. */
export interface CheckpointArguments {
  /**
   * Limit of bytes, counted in float32, that the segment's layers may write; no limit by default.
   */
  readonly budget?: number
}

/** The options of `tile`: how many tiles the segment around it shall have. */
export interface TileArguments {
  /** Tiles along the batch: how many, not how large; 1 by default. */
  readonly B?: number
  /** Nothing tiles along the channels: what asks for it is refused by name. */
  readonly C?: number
  /** Tiles along the height: how many, not how large; 1 by default. */
  readonly H?: number
  /** Tiles along the width: how many, not how large; 1 by default. */
  readonly W?: number
}

/** Directives say how to run what stands around them, and compute nothing. */
export interface DirectiveArguments {
  /** Ends a segment. */
  readonly checkpoint: CheckpointArguments
  /**
   * Tile counts wanted for the segment that it stands in; nothing tiles along C, and asking for it
   * is refused by name.
   */
  readonly tile: TileArguments
}

/** Containers name and group layers. */
export interface ContainerArguments {
  readonly seq: { readonly name?: string; readonly layers: Layers }
  readonly named: { readonly name: string; readonly layer: AnyLayer }
  /** main(x) + shortcut(x); an empty shortcut is x itself. */
  readonly residual: { readonly main: Layers; readonly shortcut: Layers }
  /**
   * main(x) times gate(x), which may be one value an image and channel; an empty main is x itself.
   */
  readonly gated: { readonly main: Layers; readonly gate: Layers }
  /**
   * The results of all branches on x, one after the other along the channels; an empty branch is x
   * itself.
   */
  readonly parallel: { readonly branches: readonly Layers[] }
}

/** The options of every layer, by its name. */
export interface Arguments extends OpArguments, DirectiveArguments, ContainerArguments {}

/** The options of layer P. */
export type ArgsOf<P extends keyof Arguments> = Arguments[P]
/** The name of a directive. */
export type Directive = keyof DirectiveArguments

/** Any layer as data: what staging walks. */
export interface AnyLayer {
  readonly op: keyof Arguments
  readonly args: Arguments[keyof Arguments]
}

/** A list of layers, in the order in which they run. */
export type Layers = readonly AnyLayer[]
