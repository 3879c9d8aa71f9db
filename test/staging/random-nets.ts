import * as dsl from '../../dsl'

/** A number from `from` to `to`, both included. */
export type Draw = (from: number, to: number) => number

/** Draws decided by a seed alone (mulberry32), so that a failing case is one number. */
export const drawsOf = (seed: number): Draw => {
  let state = seed >>> 0
  return (from, to) => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return from + (((mixed ^ (mixed >>> 14)) >>> 0) % (to - from + 1))
  }
}

/** A random chain and an input for it; built layer by layer so that every shape fits. */
export interface RandomNet {
  readonly model: dsl.Model
  readonly input: readonly [number, number, number, number]
}

interface RandomWindow {
  readonly k: number
  readonly s: number
  readonly d: number
  readonly before: number
  readonly after: number
}

/** Strides may be larger than the kernel, which leaves pixels unread. */
const randomWindow = (extent: number, draw: Draw): RandomWindow => {
  const k = draw(1, Math.min(4, extent))
  const d = k > 1 && 2 * (k - 1) < extent ? draw(1, 2) : 1
  return { k, s: draw(1, 5), d, before: draw(0, k >> 1), after: draw(0, k >> 1) }
}

const randomLayer = (draw: Draw, [, channels, height, width]: readonly number[]): dsl.AnyLayer => {
  const [h, w] = [randomWindow(height!, draw), randomWindow(width!, draw)]
  const pool = { k: [h.k, w.k], s: [h.s, w.s], ceilMode: draw(0, 1) === 1 } as const
  const symmetric = [Math.min(h.before, h.after), Math.min(w.before, w.after)] as const
  switch (draw(0, 8)) {
    case 0:
      return dsl.avgPool2d({ ...pool, p: symmetric, countIncludePad: draw(0, 1) === 1 })
    case 1:
      return dsl.maxPool2d({ ...pool, p: symmetric, d: [h.d, w.d] })
    case 2:
      return dsl.leakyRelu({ slope: 0.1 })
    case 3:
      return dsl.dropout({ rate: 0.3 })
    case 4:
      return dsl.relu
    default: {
      const groups = [1, 2, channels!].filter((count) => channels! % count === 0)[draw(0, 1)] ?? 1
      return dsl.conv2d({
        out: groups * draw(1, 3),
        k: [h.k, w.k],
        s: [Math.min(h.s, h.k + 1), Math.min(w.s, w.k + 1)],
        d: [h.d, w.d],
        p: [h.before, h.after, w.before, w.after],
        groups,
        bias: draw(0, 1) === 1
      })
    }
  }
}

const randomHead = (draw: Draw): readonly dsl.AnyLayer[] => {
  switch (draw(0, 3)) {
    case 0:
      return [dsl.globalAvgPool, dsl.linear({ out: 3 }), dsl.softmaxCrossEntropy]
    case 1:
      return [dsl.flatten, dsl.linear({ out: 4 }), dsl.relu, dsl.linear({ out: 2, bias: false }), dsl.meanSquaredError]
    case 2:
      return [dsl.globalAvgPool, dsl.meanSquaredError]
    default:
      return [dsl.meanSquaredError]
  }
}

const outputShape = (layer: dsl.AnyLayer, shape: readonly number[]): readonly number[] | undefined => {
  const rule = dsl.shapeRules[layer.op as dsl.Op] as dsl.ShapeRule<unknown>
  const output = rule(layer.args, [shape], shape)
  return output._tag === 'Right' ? output.right : undefined
}

export const randomNet = (draw: Draw): RandomNet => {
  const input = [draw(1, 3), draw(1, 4), draw(5, 23), draw(5, 23)] as const
  const layers: dsl.AnyLayer[] = [dsl.conv2d({ out: draw(1, 5), k: 3, p: 1 })]
  let shape = outputShape(layers[0]!, input)!
  const wanted = draw(1, 7)
  for (let tries = 0; layers.length < wanted && tries < 40; tries++) {
    const layer = randomLayer(draw, shape)
    const output = outputShape(layer, shape)
    if (output === undefined) continue
    layers.push(layer)
    shape = output
  }
  return { model: { name: 'random', layers: [...layers, ...randomHead(draw)] }, input }
}
