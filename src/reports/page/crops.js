/** @typedef {import('../report').Report['crops'][number]} Crop */

/** @param {string} text */
const bytesOf = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0))

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
 * @param {import('../report').Report} report
 */
const addCrops = (parent, { crops, classes }) => {
  const colours = new Map(classes.map(({ label, colour }) => [label, colour]))
  for (const crop of crops) {
    /** @param {string} text */
    const coloured = (text) => {
      const rgb = bytesOf(text)
      return (/** @type {number} */ place) => [...rgb.subarray(3 * place, 3 * place + 3)]
    }
    const plain = coloured(crop.rgb)
    /** @param {string} text */
    const overlaid = (text) => {
      const labels = bytesOf(text)
      return (/** @type {number} */ place) => {
        const colour = colours.get(/** @type {number} */ (labels[place])) ?? []
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
  if (classes.length > 0) parent.append(legend(classes.map(({ name, colour }) => ({ text: name, colour: `rgb(${colour.join(' ')})` }))))
}
