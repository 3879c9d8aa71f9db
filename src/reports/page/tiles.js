/** @typedef {Network['segments'][number]} SegmentOfReport */

const pictureSize = 240

/**
 * Rows or columns in words.
 * @param {readonly [number, number]} range
 */
const rangeText = ([from, to]) => (to - from === 1 ? `${from}` : `${from} to ${to - 1}`)

/**
 * The tiles of a segment on what it reads: what each owns, and of one of them what it holds, halo
 * included. The pointer chooses which.
 * @param {SegmentOfReport} segment
 * @param {string} colour
 */
const tilePicture = ({ text, tiles, height, width }, colour) => {
  const scale = (pictureSize - 2) / Math.max(height.inputExtent, width.inputExtent)
  const size = { width: width.inputExtent * scale, height: height.inputExtent * scale }
  /** @param {SegmentOfReport['height']} along @param {readonly [number, number]} range */
  const owned = ({ inputExtent, outputExtent }, range) => range.map((one) => (one * inputExtent * scale) / outputExtent)
  const svg = drawn('svg', {
    width: size.width + 2,
    height: size.height + 2,
    viewBox: `-1 -1 ${size.width + 2} ${size.height + 2}`,
    role: 'img'
  })
  svg.append(
    drawn('title', {}, `${text}: ${tiles}`),
    drawn('rect', { width: size.width, height: size.height, fill: 'var(--panel)', stroke: 'var(--faint)' })
  )
  const halo = drawn('rect', {
    fill: colour,
    'fill-opacity': 0.3,
    stroke: colour,
    'stroke-dasharray': '4 3',
    'stroke-width': 1.5,
    'pointer-events': 'none'
  })
  const own = drawn('rect', { fill: colour, 'fill-opacity': 0.65, stroke: 'none', 'pointer-events': 'none' })
  const words = element('div', { class: 'faint' })
  /** @param {number} row @param {number} column */
  const choose = (row, column) => {
    const [heldRows, heldColumns] = [height.held[row], width.held[column]]
    const [ownRows, ownColumns] = [height.owned[row], width.owned[column]]
    if (!heldRows || !heldColumns || !ownRows || !ownColumns) return
    const [top, bottom] = owned(height, ownRows)
    const [left, right] = owned(width, ownColumns)
    for (const [name, value] of Object.entries({ x: left, y: top, width: right - left, height: bottom - top }))
      own.setAttribute(name, `${value}`)
    const held = { x: heldColumns[0], y: heldRows[0], width: heldColumns[1] - heldColumns[0], height: heldRows[1] - heldRows[0] }
    for (const [name, value] of Object.entries(held)) halo.setAttribute(name, `${value * scale}`)
    words.replaceChildren(
      `Tile ${row + 1}, ${column + 1} owns rows ${rangeText(ownRows)} and columns ${rangeText(ownColumns)} of the output; ` +
        `it holds rows ${rangeText(heldRows)} and columns ${rangeText(heldColumns)} of the input.`
    )
  }
  height.owned.forEach((rows, row) =>
    width.owned.forEach((columns, column) => {
      const [top, bottom] = owned(height, rows)
      const [left, right] = owned(width, columns)
      const cell = drawn('rect', {
        x: left,
        y: top,
        width: right - left,
        height: bottom - top,
        fill: 'transparent',
        stroke: 'var(--faint)',
        'stroke-width': 0.7
      })
      cell.addEventListener('mouseenter', () => choose(row, column))
      svg.append(cell)
    })
  )
  svg.append(halo, own)
  choose(Math.floor(height.owned.length / 2), Math.floor(width.owned.length / 2))
  return element(
    'figure',
    {},
    svg,
    element(
      'figcaption',
      {},
      element('b', {}, text),
      element('div', {}, `${tiles}; its input is ${height.inputExtent} × ${width.inputExtent}`),
      words
    )
  )
}

/**
 * The tiled segments, each as tiles on what it reads.
 * @param {HTMLElement} parent
 * @param {Network} network
 */
const addTiles = (parent, { segments }) => {
  const pictures = segments.flatMap((segment, place) =>
    segment.height.held.length * segment.width.held.length > 1 ? [tilePicture(segment, lineColour(place))] : []
  )
  if (pictures.length === 0) parent.append(element('p', {}, 'No segment is tiled along height or width.'))
  else parent.append(element('div', { class: 'pictures' }, ...pictures))
}
