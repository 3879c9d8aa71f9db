/**
 * DarkNet-19 as Xu 2022 (docs/papers.md) trains it: the 18 convolutions of Redmon's Darknet-19
 * before its classifier, each with biases and followed by a leaky ReLU of slope 0.1 (Darknet's
 * own), with five 2x2 max pools and no batch normalisation. The paper does not list the layers; its
 * figures bear this out: 43 GiB of activations and models for a 10,000 x 10,000 image, where these
 * inputs and outputs of convolutions and pools take 40.4 GiB (as close as VGG-16 and VGG-19 come to
 * the paper's 118 and 129; keeping the outputs that normalisation needs would add 33 GiB), and 79.7
 * MB of parameters, where these with 1000 classes take 79.5 MiB (20,835,176 float32 numbers).
 */
import { batchNorm, conv2d, globalAvgPool, leakyRelu, maxPool2d, named, seq, type AnyLayer } from '../dsl'
import { withOptionCheck, gapHead, withHead, type Head, type WithHead, type HeadOptions, type Network } from './heads'

const activation = leakyRelu({ slope: 0.1 })
const wide = <const C extends number>(out: C) => [conv2d({ out, k: 3, p: 1 }), activation] as const
const narrow = <const C extends number>(out: C) => [conv2d({ out, k: 1 }), activation] as const
const wideNormalised = <const C extends number>(out: C) => [conv2d({ out, k: 3, p: 1, bias: false }), batchNorm(), activation] as const
const narrowNormalised = <const C extends number>(out: C) => [conv2d({ out, k: 1, bias: false }), batchNorm(), activation] as const
const pool = maxPool2d({ k: 2 })

const features = seq('features', [
  ...wide(32),
  pool,
  ...wide(64),
  pool,
  ...wide(128),
  ...narrow(64),
  ...wide(128),
  pool,
  ...wide(256),
  ...narrow(128),
  ...wide(256),
  pool,
  ...wide(512),
  ...narrow(256),
  ...wide(512),
  ...narrow(256),
  ...wide(512),
  pool,
  ...wide(1024),
  ...narrow(512),
  ...wide(1024),
  ...narrow(512),
  ...wide(1024)
])

const normalisedFeatures = seq('features', [
  ...wideNormalised(32),
  pool,
  ...wideNormalised(64),
  pool,
  ...wideNormalised(128),
  ...narrowNormalised(64),
  ...wideNormalised(128),
  pool,
  ...wideNormalised(256),
  ...narrowNormalised(128),
  ...wideNormalised(256),
  pool,
  ...wideNormalised(512),
  ...narrowNormalised(256),
  ...wideNormalised(512),
  ...narrowNormalised(256),
  ...wideNormalised(512),
  pool,
  ...wideNormalised(1024),
  ...narrowNormalised(512),
  ...wideNormalised(1024),
  ...narrowNormalised(512),
  ...wideNormalised(1024)
])

/** Darknet's own order: a 1x1 convolution to the classes, then the mean over the pixels. */
const classicHead = <const C extends number>(classes: C) =>
  [named('classifier', conv2d({ out: classes, k: 1 })), named('avgpool', globalAvgPool)] as const

type GapHead<C extends number> = ReturnType<typeof gapHead<C>>
type ClassicHead<C extends number> = ReturnType<typeof classicHead<C>>

const darknet = <const N extends string, F extends AnyLayer>(name: N, layer: F) =>
  withOptionCheck(
    name,
    <const C extends number, const H extends Head = 'gap'>({
      classes,
      head = 'gap' as H
    }: HeadOptions<C, H>): Network<N, WithHead<readonly [F], GapHead<C>, ClassicHead<C>, H>> => ({
      name,
      layers: withHead([layer], head, gapHead(classes), classicHead(classes))
    })
  )

/**
 * Darknet-19 without batch normalisation (Redmon and Farhadi, 2016), whose layers' names are
 * Tilefold's own.
 */
export const darknet19 = darknet('darknet19', features)

/**
 * Darknet-19 as Redmon trained it: convolutions are normalised in place of their biases (the
 * classifier's keeps its bias).
 */
export const darknet19_bn = darknet('darknet19_bn', normalisedFeatures)
