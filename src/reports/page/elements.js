/**
 * An element with attributes and children; texts are texts, whatever is in them.
 * @param {string} tag
 * @param {Record<string, string>} [attributes]
 * @param {...(Node | string)} children
 */
const element = (tag, attributes = {}, ...children) => {
  const made = document.createElement(tag)
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value)
  made.append(...children)
  return made
}

/**
 * Makes an element of SVG.
 * @param {string} tag
 * @param {Record<string, string | number>} [attributes]
 * @param {...(Node | string)} children
 */
const drawn = (tag, attributes = {}, ...children) => {
  const made = document.createElementNS('http://www.w3.org/2000/svg', tag)
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, `${value}`)
  made.append(...children)
  return made
}

const tip = element('div', { id: 'tip' })

/**
 * Shows lines beside the pointer, the first of them as a heading.
 * @param {MouseEvent} event
 * @param {readonly string[]} lines
 */
const showTip = ({ clientX, clientY }, [heading = '', ...lines]) => {
  tip.replaceChildren(element('b', {}, heading), ...lines.map((line) => element('div', {}, line)))
  tip.style.display = 'block'
  const { width, height } = tip.getBoundingClientRect()
  tip.style.left = `${clientX + 16 + width > innerWidth ? Math.max(0, clientX - 16 - width) : clientX + 16}px`
  tip.style.top = `${clientY + 16 + height > innerHeight ? Math.max(0, clientY - 16 - height) : clientY + 16}px`
}

const hideTip = () => {
  tip.style.display = 'none'
}

/**
 * @typedef {object} LegendEntry
 * @property {string} text
 * @property {string} colour
 * @property {'solid' | 'dashed'} [stroke]
 */

/**
 * A legend of swatches.
 * @param {readonly LegendEntry[]} entries
 */
const legend = (entries) =>
  element(
    'div',
    { class: 'legend' },
    ...entries.map(({ text, colour, stroke }) => {
      const style = stroke === undefined ? `background:${colour}` : `border-color:${colour}`
      const kind = stroke === undefined ? '' : stroke === 'dashed' ? 'stroke dashed' : 'stroke'
      return element('span', {}, element('i', { class: kind, style }), text)
    })
  )
