/** One of the two products of a layer's backward. */
export interface BackwardProduct {
  /**
   * The bytes that it takes beside the layer's input and the gradients of its input and output:
   * devices are slow to answer for scratch.
   */
  readonly bytes: () => number
  readonly launch: () => void
}

/** The gradient of the weights. */
export interface WeightsProduct extends BackwardProduct {
  /** Those of its bytes that stay until the gradient of the input is made too. */
  readonly keptBytes: number
}

/** The gradient of the input. */
export interface DataProduct extends BackwardProduct {
  /** Whether it reads the gradient of the output in parts, which only the second may. */
  readonly isSecond: boolean
}

/** Fewer bytes than this are no reason to let the input stay longer. */
const leastSavedBytes = 2 ** 20

/**
 * Launches both in the order that needs the less memory. With the gradient of the weights first,
 * the input may go before its own gradient comes, but that of the weights stays until the update,
 * which waits for the other product to read the weights, perhaps in a copy beside it.
 */
export const launchBackward = (inputBytes: number, weights: WeightsProduct, data: DataProduct): void => {
  const isDataFirst = (): boolean => {
    const [ofWeights, ofData] = [weights.bytes(), data.bytes()]
    const weightsFirst = inputBytes + Math.max(ofWeights, weights.keptBytes + ofData)
    return 2 * inputBytes + Math.max(ofData, ofWeights) + leastSavedBytes < weightsFirst
  }
  const mayPay = inputBytes < weights.keptBytes && !data.isSecond
  const order = mayPay && isDataFirst() ? [data, weights] : [weights, data]
  order.forEach(({ launch }) => launch())
}
