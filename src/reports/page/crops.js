/** @typedef {import('../report').Report['crops'][number]} Crop */

/** @param {string} text */
const bytesOf = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0))

/** @param {string} colour */
const channelsOf = (colour) => [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16))

/**
 * A picture of pixels by their places; `pixel` gives red, green and blue.
 * @param {Crop} crop
 * @param {string} caption
 * @param {(place: number) => readonly number[]} pixel
 */
const picture = ({ height, width }, caption, pixel) => {
  const canvas = /** @type {HTMLCanvasElement} */ (element('canvas', { width: `${width}`, height: `${height}`, role: 'img' }))
  canvas.setAttribute('aria-label', caption)
  const ctx = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d'))
  const data = ctx.createImageData(width, height)
  for (let place = 0; place < width * height; place += 1) data.data.set([...pixel(place), 255], 4 * place)
  ctx.putImageData(data, 0, 0)
  return element('figure', {}, canvas, element('figcaption', { class: 'faint' }, caption))
}

/**
 * Small pictures of crops, with the classes of their pixels laid over them.
 * @param {HTMLElement} parent
 * @param {readonly Crop[]} crops
 */
const addCrops = (parent, crops) => {
  /** @type {Set<number>} */
  const seen = new Set()
  for (const crop of crops) {
    /** @param {string} text */
    const coloured = (text) => {
      const rgb = bytesOf(text)
      return (/** @type {number} */ place) => [...rgb.subarray(3 * place, 3 * place + 3)]
    }
    const plain = coloured(crop.rgb)
    /** @param {string} text */
    const overlaid = (text) => {
      const classes = bytesOf(text)
      classes.forEach((one) => seen.add(one))
      return (/** @type {number} */ place) => {
        const one = /** @type {number} */ (classes[place])
        const colour = one === 255 ? [128, 128, 128] : channelsOf(lineColour(one))
        return plain(place).map((value, channel) => 0.45 * value + 0.55 * /** @type {number} */ (colour[channel]))
      }
    }
    parent.append(
      element(
        'div',
        { class: 'crops' },
        picture(crop, crop.text === '' ? crop.name : `${crop.name}: ${crop.text}`, plain),
        ...(crop.heatMap === null ? [] : [picture(crop, crop.heatMap.text, coloured(crop.heatMap.rgb))]),
        ...(crop.target === null ? [] : [picture(crop, 'truth', overlaid(crop.target))]),
        ...(crop.predicted === null ? [] : [picture(crop, 'predicted', overlaid(crop.predicted))])
      )
    )
  }
  if (seen.size === 0) return
  parent.append(
    legend(
      [...seen]
        .sort((a, b) => a - b)
        .map((one) => ({ text: one === 255 ? 'does not count' : `class ${one}`, colour: one === 255 ? grey : lineColour(one) }))
    )
  )
}
