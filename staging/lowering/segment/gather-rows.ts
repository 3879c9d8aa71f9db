import type { EqualParts } from '../../graph/equal-parts'
import type { ImageRows } from '../../graph/shared-tensor'
import { channelBlock } from '../../kernels/layout'
import { arenaOperand, type Buffer } from '../ir/builder'
import type { WholeTensor } from '../ir/tile-tensor'
import { boxStrides } from '../scope/regions'
import type { ModelScope } from '../scope/scope'
import { packPart, recordExchanged, rowsPart, type StartedExchange } from './exchange'
import { startGathering } from './gather-parts'

/** All parts of a tensor, as they were gathered, to where they lie in it. */
const copyParts = (
  { builder }: ModelScope,
  received: Buffer,
  { address, ...whole }: WholeTensor,
  { images, rows, imageParts, rowParts }: EqualParts
): void => {
  const [, channels, , width] = whole.extents
  const block = channelBlock(whole.layout, channels)
  const planes = images * Math.ceil(channels / block)
  const run = rows * width * block
  const [imageStride, planeStride] = boxStrides({ address, ...whole })
  builder.launch<'copyBox'>(
    {
      kind: 'copyBox',
      n0: imageParts,
      n1: rowParts,
      n2: planes,
      n3: run,
      sourceStride0: rowParts * planes * run,
      sourceStride1: planes * run,
      sourceStride2: run,
      destinationStride0: images * imageStride,
      destinationStride1: run,
      destinationStride2: planeStride,
      add: 0,
      ofParameters: 0
    },
    { source: arenaOperand(received), destination: address }
  )
}

/** Begins to gather on each rank all of a tensor of which it owns as much as all others. */
export const startGatheringRows = (scope: ModelScope, whole: WholeTensor, owned: ImageRows, parts: EqualParts): StartedExchange => {
  const sent = packPart(scope, rowsPart(whole, owned))
  const received = startGathering(scope.builder, sent.buffer, parts.imageParts * parts.rowParts, { kind: 'received-rows' })
  return { sent: [sent], done: recordExchanged(scope), take: () => copyParts(scope, received, whole, parts) }
}
