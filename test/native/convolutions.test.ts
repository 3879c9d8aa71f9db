import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { deviceModel } from '../../native'
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

test.run()
