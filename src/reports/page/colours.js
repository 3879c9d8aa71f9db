/** Okabe and Ito's, which the colour-blind can tell apart. */
const blue = '#0072b2'
const sky = '#56b4e9'
const purple = '#cc79a7'
const green = '#009e73'
const orange = '#e69f00'
const vermilion = '#d55e00'
const grey = '#8c8c8c'
const yellow = '#d9c700'

/** By place in the report's kinds of buffers. */
const kindColours = [blue, sky, purple, green, orange, grey]

/** Of lines and segments, one after the other. */
const lineColours = [blue, orange, green, purple, vermilion, sky, grey, yellow]

/** @param {number} index */
const lineColour = (index) => /** @type {string} */ (lineColours[index % lineColours.length])

/**
 * What the style sheet says of a colour, which depends on light and dark.
 * @param {string} name
 */
const styleColour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim()
