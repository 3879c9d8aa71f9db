/** Characters of a piece, at least, but of the last. */
const leastPiece = 2 ** 16

/** The same text in parts: the fields of an object, and the items of each list that it holds. */
function* parts(value: object): Generator<string> {
  let before = '{'
  for (const [name, field] of Object.entries(value) as (readonly [string, unknown])[]) {
    if (field === undefined) continue
    yield `${before}${JSON.stringify(name)}:`
    before = ','
    if (!Array.isArray(field)) {
      yield JSON.stringify(field)
      continue
    }
    yield '['
    for (let item = 0; item < field.length; item += 1) yield `${item === 0 ? '' : ','}${JSON.stringify(field[item] ?? null)}`
    yield ']'
  }
  yield before === '{' ? '{}' : '}'
}

/**
 * What JSON.stringify gives of an object, in pieces: of many images with many classes all is more
 * than a string holds.
 */
export function* jsonPieces(value: object): Generator<string> {
  let piece = ''
  for (const part of parts(value)) {
    piece += part
    if (piece.length < leastPiece) continue
    yield piece
    piece = ''
  }
  yield piece
}
