/**
 * Characters that move a cursor, end a line or turn the direction of text: C0, DEL, C1, line and
 * paragraph ends, bidirectional controls.
 */
const controls = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g

/**
 * A text on one line of a terminal: names of files, classes and layers may hold anything. Controls
 * are written as in JSON.
 */
export const printable = (text: string): string =>
  text.replace(controls, (control) => {
    const written = JSON.stringify(control).slice(1, -1)
    return written === control ? `\\u${control.charCodeAt(0).toString(16).padStart(4, '0')}` : written
  })

/** A text of several lines for a terminal, each of them printable. */
export const printableLines = (text: string): string => text.split('\n').map(printable).join('\n')
