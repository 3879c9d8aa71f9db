import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { deviceModel } from '../../native'
import { versions } from '../../native/addon/addon'
import { layoutCode } from '../../staging/kernels/layout'
import { must } from '../must'

test('the cpu answers for whole convolutions of any size: oneDNN 2.6 divides by the elements of an image, which it counts in 32 bits', () => {
  const { activationLayout, weightLayouts, scratchBytes } = must(deviceModel('cpu', 'float32', 2))
  for (const [channels, extent] of [
    [64, 8192],
    [256, 4096],
    [64, 8200]
  ] as const) {
    const layout = activationLayout(channels, false)
    const padding = { top: 1, bottom: 1, left: 1, right: 1 }
    const weights = weightLayouts({
      inChannels: channels,
      outChannels: channels,
      groups: 1,
      kernel: [3, 3],
      stride: [1, 1],
      dilation: [1, 1],
      padding,
      sourceLayout: layout
    })
    const bytes = scratchBytes({
      kind: 'convolutionForward',
      batch: 1,
      ...{ inChannels: channels, inHeight: extent, inWidth: extent },
      ...{ outChannels: channels, outHeight: extent, outWidth: extent },
      ...{ kernelHeight: 3, kernelWidth: 3, strideHeight: 1, strideWidth: 1, dilationHeight: 1, dilationWidth: 1 },
      ...{ padTop: 1, padBottom: 1, padLeft: 1, padRight: 1, groups: 1 },
      ...{ sourceLayout: layoutCode(layout), destinationLayout: layoutCode(layout), weightLayout: layoutCode(weights.forward) },
      ...{ algorithm: 0, slope: 1 }
    })!
    assert.ok(Number.isSafeInteger(bytes) && bytes >= 0, `${channels} channels of ${extent}x${extent}: ${bytes}`)
  }
})

const multipliesBf16 = /bf16|amx|fp16/.test(must(versions()).instructionSet)

/** Where it has none, our own loops convert each row to float and back, from plain weights. */
const compiled = multipliesBf16 ? test : test.skip
compiled('in bf16 the cpu has compiled kernels of every common convolution, where the processor multiplies bf16', () => {
  const { activationLayout, weightLayouts } = must(deviceModel('cpu', 'bf16', 2))
  for (const [kernel, stride, dilation, groups] of [
    [3, 1, 1, 1],
    [3, 2, 1, 1],
    [3, 1, 2, 1],
    [1, 1, 1, 1],
    [1, 2, 1, 1],
    [7, 2, 1, 1],
    [3, 1, 1, 64]
  ] as const) {
    const pad = ((kernel - 1) / 2) * dilation
    const { stored, ...read } = weightLayouts({
      inChannels: 64,
      outChannels: 64,
      groups,
      kernel: [kernel, kernel],
      stride: [stride, stride],
      dilation: [dilation, dilation],
      padding: { top: pad, bottom: pad, left: pad, right: pad },
      sourceLayout: activationLayout(64, false)
    })
    const what = `${kernel}x${kernel}, stride ${stride}, dilation ${dilation}, ${groups} groups: ${JSON.stringify({ stored, ...read })}`
    for (const layout of Object.values(read)) assert.match(layout, groups === 1 ? /2[io]$/ : /^Goihw16g$/, what)
    assert.is.not(stored, 'plain', what)
  }
})

test.run()
