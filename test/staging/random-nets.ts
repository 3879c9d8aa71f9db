import * as dsl from '../../dsl'
import { trace } from '../../dsl/internal'

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

/** A random net and an input for it; built layer by layer so that every shape fits. */
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
  const d = k > 1 ? draw(1, Math.max(1, Math.min(4, Math.floor((extent - 1) / (k - 1))))) : 1
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

const randomNormalisation = (draw: Draw, channels: number): dsl.AnyLayer => {
  switch (draw(0, 5)) {
    case 0:
      return dsl.groupNorm({ groups: channels % 2 === 0 ? 2 : 1, eps: 0.01 })
    case 1:
      return dsl.instanceNorm({ eps: 0.01, affine: draw(0, 1) === 1 })
    case 2:
      return dsl.batchNorm({ eps: 0.01, frozen: true })
    default:
      return dsl.batchNorm({ eps: 0.01, momentum: draw(0, 10) / 10, affine: draw(0, 4) > 0 })
  }
}

const activations = [
  dsl.relu,
  dsl.leakyRelu({ slope: 0.1 }),
  dsl.silu,
  dsl.sigmoid,
  dsl.tanh,
  dsl.gelu,
  dsl.hardswish,
  dsl.elu({ alpha: 0.5 }),
  dsl.prelu({ perChannel: true }),
  dsl.pointwise('swish', (x, { weight, bias }) => x.mul(x.mul(weight).add(bias).sigmoid()), {
    weight: { initial: 0.7, perChannel: true },
    bias: { initial: 0.1 }
  })
]

const randomActivation = (draw: Draw): dsl.AnyLayer => activations[draw(0, activations.length - 1)]!

/** Layers that leave height and width as they are, ending in so many channels. */
const randomBranch = (draw: Draw, channels: number, out: number, depth: number): dsl.Layers => {
  const k = [1, 3][draw(0, 1)]!
  const layers: dsl.AnyLayer[] = [dsl.conv2d({ out, k, p: k >> 1, bias: draw(0, 1) === 1 })]
  if (draw(0, 1) === 1) layers.push(randomNormalisation(draw, out))
  if (draw(0, 1) === 1) layers.push(randomActivation(draw))
  if (depth > 0 && draw(0, 2) === 0) layers.push(...randomBranch(draw, out, out, depth - 1))
  return draw(0, 3) === 0 && channels > 0 ? [dsl.maxPool2d({ k: 3, s: 1, p: 1 }), ...layers] : layers
}

/** Branches that meet again, and what may follow or precede them. */
const randomBlock = (draw: Draw, [, channels, height, width]: readonly number[], depth: number): dsl.AnyLayer => {
  const out = draw(1, 5)
  switch (draw(0, 7)) {
    case 6: {
      // Squeeze and excitation, or a sum that is broadcast.
      const gate = [dsl.adaptiveAvgPool2d({ out: 1 }), dsl.conv2d({ out, k: 1 }), randomActivation(draw)]
      const main = randomBranch(draw, channels!, out, depth)
      return draw(0, 2) === 0 ? dsl.residual(main, gate) : dsl.gated(main, gate)
    }
    case 7:
      return dsl.gated(randomBranch(draw, channels!, out, depth), randomBranch(draw, channels!, out, 0))
    case 0:
      return dsl.residual(randomBranch(draw, channels!, channels!, depth), [])
    case 1:
      return dsl.residual(randomBranch(draw, channels!, out, depth), randomBranch(draw, channels!, out, 0))
    case 2: {
      // Strided, as where a ResNet's stages begin.
      const stride = draw(2, 3)
      return dsl.residual(
        [dsl.conv2d({ out, k: 3, s: stride, p: 1 }), randomNormalisation(draw, out), dsl.relu, dsl.conv2d({ out, k: 3, p: 1 })],
        [dsl.conv2d({ out, k: 1, s: stride }), dsl.batchNorm({ eps: 0.01 })]
      )
    }
    case 3:
      return dsl.denseBlock(randomBranch(draw, channels!, out, depth))
    case 4:
      return dsl.parallel([
        randomBranch(draw, channels!, out, depth),
        ...(draw(0, 1) === 1 ? [randomBranch(draw, channels!, draw(1, 3), 0)] : []),
        // A part of the image that comes back to its size.
        [
          dsl.adaptiveAvgPool2d({ out: [draw(1, Math.min(height!, 4)), draw(1, Math.min(width!, 4))] }),
          dsl.conv2d({ out: draw(1, 3), k: 1 }),
          dsl.resize({ mode: 'bilinear', to: 'block', alignCorners: draw(0, 1) === 1 })
        ]
      ])
    default:
      return dsl.parallel([
        [],
        [
          dsl.conv2d({ out, k: 2, s: 2, p: [0, height! % 2, 0, width! % 2] }),
          randomNormalisation(draw, out),
          dsl.relu,
          draw(0, 1) === 1
            ? dsl.convTranspose2d({ out: 2, k: 2, s: 2, outputPadding: 0 })
            : dsl.resize({ mode: draw(0, 1) === 1 ? 'nearest' : 'bilinear', scale: 2 }),
          dsl.resize({ mode: 'nearest', to: 'block' })
        ]
      ])
  }
}

/** Groups of one channel, of several, or none; windows that meet or leave gaps. */
const randomTransposed = (draw: Draw, channels: number): dsl.AnyLayer => {
  const groups = [1, 2, channels].filter((count) => channels % count === 0)[draw(0, 2)] ?? 1
  const [s, d] = [[draw(1, 3), draw(1, 3)] as const, [draw(1, 3), draw(1, 3)] as const]
  return dsl.convTranspose2d({
    ...{ out: groups * draw(1, 2), k: [draw(1, 3), draw(1, 3)], s, d, p: draw(0, 1), groups },
    outputPadding: [draw(0, s[0] - 1), draw(0, s[1] - 1)],
    bias: draw(0, 1) === 1
  })
}

/**
 * Channels to squares of pixels where those are few yet, and squares of pixels to channels where
 * they are whole.
 */
const randomShuffle = (draw: Draw, [, , height, width]: readonly number[]): dsl.AnyLayer => {
  const factor = draw(2, 3)
  if (height! % factor === 0 && width! % factor === 0 && draw(0, 1) === 1) return dsl.pixelUnshuffle({ factor })
  const shuffled = dsl.seq([dsl.conv2d({ out: factor ** 2 * draw(1, 2), k: 1 }), dsl.pixelShuffle({ factor })])
  return Math.max(height!, width!) > 12 ? dsl.avgPool2d({ k: 2, ceilMode: true }) : shuffled
}

const randomChannelShuffle = (draw: Draw): dsl.AnyLayer => {
  const groups = draw(2, 4)
  return dsl.seq([dsl.conv2d({ out: groups * draw(2, 4), k: 1 }), dsl.channelShuffle({ groups })])
}

/** Channels split among two branches and shuffled, as ShuffleNet v2 has them. */
const randomSplit = (draw: Draw, [, channels]: readonly number[]): dsl.AnyLayer => {
  const first = draw(1, channels! - 1)
  const [start, length] = [draw(0, first), channels! - first]
  return dsl.parallel([[dsl.narrow({ start: 0, length: first })], [dsl.narrow({ start, length }), dsl.relu]])
}

const randomPad = (draw: Draw, [, , height, width]: readonly number[]): dsl.AnyLayer => {
  const mode = (['zeros', 'reflect', 'replicate'] as const)[draw(0, 2)]!
  const side = (extent: number): number => draw(0, mode === 'reflect' ? Math.min(4, extent - 1) : 4)
  return dsl.pad({ p: [side(height!), side(height!), side(width!), side(width!)], mode })
}

/** What branching and normalised networks have beside a chain's layers. */
const randomGraphLayer = (draw: Draw, shape: readonly number[]): dsl.AnyLayer => {
  switch (draw(0, 12)) {
    case 0:
      return randomNormalisation(draw, shape[1]!)
    case 1:
      return dsl.seq([randomNormalisation(draw, shape[1]!), randomActivation(draw)])
    case 2:
      return randomActivation(draw)
    case 3:
      return randomTransposed(draw, shape[1]!)
    case 4:
      return dsl.resize({ mode: draw(0, 1) === 1 ? 'nearest' : 'bilinear', size: [draw(3, 24), draw(3, 24)] })
    case 5:
      return dsl.adaptiveAvgPool2d({ out: [draw(1, 5), draw(1, 5)] })
    case 6:
      return randomShuffle(draw, shape)
    case 7:
      return draw(0, 1) === 1 ? randomShuffle(draw, shape) : randomChannelShuffle(draw)
    case 8:
      return shape[1]! > 1 && draw(0, 1) === 1 ? randomSplit(draw, shape) : randomPad(draw, shape)
    default:
      return randomBlock(draw, shape, draw(0, 2))
  }
}

const randomHead = (draw: Draw): readonly dsl.AnyLayer[] => {
  switch (draw(0, 4)) {
    case 0:
      return [dsl.globalAvgPool, dsl.linear({ out: 3 }), dsl.softmaxCrossEntropy]
    case 3:
      return [dsl.globalMaxPool, dsl.linear({ out: 3 }), dsl.tanh, dsl.linear({ out: 2 }), dsl.softmaxCrossEntropy]
    case 1:
      return [dsl.flatten, dsl.linear({ out: 4 }), dsl.relu, dsl.linear({ out: 2, bias: false }), dsl.meanSquaredError]
    case 2:
      return [dsl.globalAvgPool, dsl.meanSquaredError]
    default:
      return [dsl.meanSquaredError]
  }
}

const outputShape = (layer: dsl.AnyLayer, shape: readonly number[]): readonly number[] | undefined => {
  const traced = trace([layer], shape)
  return traced._tag === 'Right' ? traced.right.at(-1)!.output : undefined
}

export type NetKind = 'chain' | 'graph'

/** Half of all seeds stand for chains, half for graphs. */
export const netKind = (seed: number): NetKind => (drawsOf(~seed)(0, 1) === 1 ? 'graph' : 'chain')

/** A chain; or a graph, with blocks of branches, normalisation, resizing and the loss of pixels. */
export const randomNet = (draw: Draw, kind: NetKind = 'chain'): RandomNet => {
  const input = [draw(1, 3), draw(1, 4), draw(5, 23), draw(5, 23)] as const
  const layers: dsl.AnyLayer[] = [dsl.conv2d({ out: draw(1, 5), k: 3, p: 1 })]
  let shape = outputShape(layers[0]!, input)!
  const wanted = draw(1, 7)
  for (let tries = 0; layers.length < wanted && tries < 40; tries++) {
    const layer = kind === 'graph' && draw(0, 2) > 0 ? randomGraphLayer(draw, shape) : randomLayer(draw, shape)
    const output = outputShape(layer, shape)
    if (output === undefined) continue
    layers.push(layer)
    shape = output
  }
  const head = kind === 'graph' && draw(0, 3) === 0 ? [dsl.pixelCrossEntropy({ ignore: 1, classWeights: [1, 2, 0.5] })] : randomHead(draw)
  const scores = kind === 'graph' && head.length === 1 && head[0]!.op === 'pixelCrossEntropy' ? [dsl.conv2d({ out: 3, k: 1 })] : []
  return { model: { name: 'random', layers: [...layers, ...scores, ...head] }, input }
}
