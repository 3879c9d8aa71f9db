import * as dsl from '../../dsl'

const functions: Readonly<Record<string, dsl.AnyLayer>> = {
  sigmoid: dsl.sigmoid,
  tanh: dsl.tanh,
  silu: dsl.silu,
  gelu: dsl.gelu
}

/** Layers as the golden data writes them, where a pointwise function is an op without options, as the DSL's own. */
export const withFunctions = (layers: dsl.Layers): dsl.Layers => {
  const within = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(within)
    if (typeof value !== 'object' || value === null) return value
    const { op, args } = value as { readonly op?: string; readonly args?: object }
    if (op === undefined) return value
    const known = functions[op]
    if (known !== undefined) return { ...value, op: known.op, args: known.args }
    return { ...value, args: Object.fromEntries(Object.entries(args ?? {}).map(([name, held]) => [name, within(held)])) }
  }
  return layers.map(within) as dsl.Layers
}
