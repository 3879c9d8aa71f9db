/** One of the two products of a layer's backward. */
export interface BackwardProduct {
  /**
   * Bytes that it takes beside the layer's input and the gradients of its input and output, and
   * those of them that stay until the other product is made too.
   */
  readonly bytes: number
  readonly keptBytes: number
  /** Whether it reads the gradient of the output in parts, which only the second may. */
  readonly isSecond?: boolean
  readonly launch: () => void
}

/**
 * Launches both in the order that needs the less memory. The gradient of the weights first, and the
 * input may go before its own gradient comes; but the gradient of the weights waits for the copy of
 * the weights that the other product reads to be gone, since an update would change it.
 */
export const launchBackward = (inputBytes: number, weights: BackwardProduct, data: BackwardProduct): void => {
  const weightsFirst = inputBytes + Math.max(weights.bytes, weights.keptBytes + data.bytes)
  const dataFirst = 2 * inputBytes + Math.max(data.bytes, weights.bytes)
  const order = dataFirst < weightsFirst && data.isSecond !== true ? [data, weights] : [weights, data]
  order.forEach(({ launch }) => launch())
}
