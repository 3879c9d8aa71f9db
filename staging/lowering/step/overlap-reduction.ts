import type { Buffer, Builder } from '../ir/builder'
import { waitForEngine } from '../ir/wait-for-engine'
import type { ParameterTensor } from '../scope/parameter-tensor'
import { splitPieces, type Reduction } from './pieces'
import { addPiece, sendPiece } from './reduce'

/** Gradients that travel and are added while the backward pass goes on. */
export interface OverlappedReduction {
  /** A parameter's gradient is complete: nothing of the step adds to it any more. */
  readonly send: (parameter: ParameterTensor) => void
  /** Computing waits until all that was sent is added. */
  readonly finish: () => void
  /** The parameters whose gradients were sent so far. */
  readonly added: () => ReadonlySet<ParameterTensor>
}

/**
 * Adds each gradient over ranks as soon as it is complete: the network engine sends and receives
 * one piece after the other, and adds it itself, so that computing waits but in the end. What is
 * added to what, and in which order, is as of the section `reduce`.
 */
export const createOverlappedReduction = (
  builder: Builder,
  parameters: readonly ParameterTensor[],
  reduction: Reduction
): OverlappedReduction => {
  const sizes = parameters.flatMap((parameter) =>
    splitPieces(parameter, reduction).map(({ sliceBytes }) => reduction.addedBy(parameter).ranks * sliceBytes)
  )
  const received: Buffer = builder.buffer({ kind: 'received-gradients' }, Math.max(0, ...sizes))
  const added = new Set<ParameterTensor>()
  return {
    send: (parameter) => {
      waitForEngine(builder, 'network', 'compute')
      for (const piece of splitPieces(parameter, reduction)) {
        sendPiece(builder, parameter, piece, received, reduction)
        addPiece(builder.networkLaunch, parameter, piece, received, reduction)
      }
      added.add(parameter)
    },
    added: () => added,
    finish: () => {
      if (added.size === 0) return
      const all = builder.freshEvent()
      builder.record('network', all)
      // The pieces' place is another's from here on.
      builder.wait('compute', all, received)
    }
  }
}
