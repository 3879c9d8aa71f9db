import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import { elementCount } from '../../staging/graph/extents'
import { type AnyLayer, type Layers, type Model, conv2d, dropout, globalAvgPool, linear, meanSquaredError } from '../../dsl'
import { flatLayers, isDirective } from '../../dsl/internal'
import type { Graph } from '../../staging'
import { type Failure, type Outcome, inputFailure } from '../failure'
import { freezeModel, isLossLayer } from '../model/model-layers'
import type { Numbers, StepIo } from '../../native'
import { type WeightSource, readWeights } from '../weights/weights'

/** What a container holds, as far as a head may lie in one. */
interface Holder {
  readonly name?: string
  readonly layer?: AnyLayer
  readonly layers?: Layers
}

const layerOp = (layer: AnyLayer): AnyLayer['op'] => {
  const { layer: held } = layer.args as Holder
  return held === undefined ? layer.op : layerOp(held)
}

const [poolOp, headOp] = [globalAvgPool.op, linear({ out: 1 }).op]
/** What changes nothing of one value a channel, where a network is evaluated. */
const neutralLayer = dropout({ rate: 0 })
const neutral: readonly AnyLayer['op'][] = [neutralLayer.op]

/** Whether a layer computes nothing but a loss. */
const isBehindHead = (layer: AnyLayer): boolean => flatLayers([layer]).every((one) => isDirective(one.op) || isLossLayer(one))

/** Another layer in place of the head, under the same name, so that its weights are found. */
const replaceHead = (head: AnyLayer, other: AnyLayer): AnyLayer => {
  const { layer: held } = head.args as Holder
  return held === undefined ? other : { op: head.op, args: { ...head.args, layer: replaceHead(held, other) } as AnyLayer['args'] }
}

/** What becomes of the layers before the head, and of it; undefined where that cannot be. */
type ChangeEnd = (before: Layers, head: AnyLayer) => Layers | undefined

/** Changes the end of a network that ends in a linear layer, in a sequence or not. */
const changeEnd = (layers: Layers, change: ChangeEnd): Layers | undefined => {
  const last = layers.findLastIndex((layer) => !isBehindHead(layer))
  const end = layers[last]
  if (end === undefined) return undefined
  const { layers: held } = end.args as Holder
  if (held === undefined) return layerOp(end) === headOp ? change(layers.slice(0, last), end) : undefined
  const inner = changeEnd(held, change)
  return inner && [...layers.slice(0, last), { op: end.op, args: { ...end.args, layers: inner } as AnyLayer['args'] }]
}

/**
 * Pooling left out, and the head at every place. A layer that changes nothing stands where pooling
 * was, so that names by number stay.
 */
const withoutPooling: ChangeEnd = (before, head) => {
  const pool = before.findLastIndex((layer) => !neutral.includes(layerOp(layer)))
  return pool !== -1 && layerOp(before[pool]!) === poolOp
    ? [...before.with(pool, neutralLayer), replaceHead(head, conv2d({ out: 1, k: 1 }))]
    : undefined
}

const withOneScore: ChangeEnd = (before, head) => [...before, replaceHead(head, linear({ out: 1 }))]

/** A model of one output, by running statistics, whose loss compares it with a target. */
const makeModel = (name: string, layers: Layers): Model => ({ name, layers: [...freezeModel({ name, layers }).layers, meanSquaredError] })

/**
 * The model whose output is the score of one class. Fails for one that does not end in a linear
 * layer.
 */
export const scoreModel = ({ name, layers }: Model): E.Either<Failure, Model> =>
  pipe(
    changeEnd(layers, withOneScore),
    E.fromNullable(inputFailure(`${name} does not end in a linear layer, of which the score of one class is taken: give another model`)),
    E.map((changed) => makeModel(name, changed))
  )

/**
 * The model whose output is the class activation map of one class (Zhou 2016, section 2): the last
 * feature map, weighted by the head. Its mean over all places is the score of the class. Fails for
 * a model that does not end in global average pooling and one linear layer.
 */
export const activationModel = ({ name, layers }: Model): E.Either<Failure, Model> => {
  const changed = changeEnd(layers, withoutPooling)
  if (changed !== undefined) return E.right(makeModel(name, changed))
  const sentence = `${name} does not end in global average pooling and one linear layer, of which cam is made: take --heatmap saliency`
  // What has no saliency either says so.
  return E.chain(() => E.left(inputFailure(sentence)))(scoreModel({ name, layers }))
}

/** The fields by which the weights of a model are known. */
type Weighted = Pick<Graph, 'model' | 'parameters'>

/** Fills the weights of a model of one class: the file's, and of the head the row of the class. */
export const weightsOfClass =
  (weights: WeightSource, scoring: Weighted, ofClass: Weighted, classIndex: number) =>
  (io: StepIo): Outcome<void> => {
    const shapes = new Map(ofClass.parameters.map(({ name, shape }) => [name, shape]))
    const heads = new Map<string, Numbers>(
      scoring.parameters
        .filter(({ name, shape }) => shapes.get(name)?.[0] !== shape[0])
        .map(({ name, shape }) => [name, new Float64Array(elementCount(shape))])
    )
    return pipe(
      readWeights(weights, scoring, 0, { ...io, view: (name) => heads.get(name) ?? io.view(name) }),
      TE.map(() => {
        for (const [name, all] of heads) {
          const row = io.view(name)
          row.set(all.subarray(classIndex * row.length, (classIndex + 1) * row.length))
        }
      })
    )
  }
