/** One of the two products of a layer's backward. */
export interface BackwardProduct {
  /** Bytes of it that stay until the other product is made too. */
  readonly keptBytes: number
  /**
   * With those, the bytes that it takes beside the layer's input and the gradients of its input and
   * output: devices are slow to answer for scratch.
   */
  readonly bytes: () => number
  /** Whether it reads the gradient of the output in parts, which only the second may. */
  readonly isSecond?: boolean
  readonly launch: () => void
}

/** Fewer bytes than this are no reason to let the input stay longer. */
const leastSavedBytes = 2 ** 20

/**
 * Launches both in the order that needs the less memory. With the gradient of the weights first,
 * the input may go before its own gradient comes, but that of the weights stays until the update,
 * which waits for the other product to read the weights, perhaps in a copy beside it.
 */
export const launchBackward = (inputBytes: number, weights: BackwardProduct, data: BackwardProduct): void => {
  const isDataFirst = (): boolean => {
    const [ofWeights, ofData] = [weights.bytes(), data.bytes()]
    return 2 * inputBytes + Math.max(ofData, ofWeights) + leastSavedBytes < inputBytes + Math.max(ofWeights, weights.keptBytes + ofData)
  }
  const mayPay = inputBytes < weights.keptBytes && data.isSecond !== true
  const order = mayPay && isDataFirst() ? [data, weights] : [weights, data]
  order.forEach(({ launch }) => launch())
}
