/** GeoJSON (RFC 7946) as QuPath exports it. */

export type Corner = readonly [x: number, y: number]

export const box = (left: number, top: number, right: number, bottom: number): readonly Corner[] => [
  [left, top],
  [right, top],
  [right, bottom],
  [left, bottom]
]

/** The first corner again in the end. */
export const closed = (corners: readonly Corner[]): readonly Corner[] => [...corners, corners[0]!]

/** A polygon of a class, or of none: its outer ring, then its holes. */
export const feature = (name: string | undefined, ...rings: readonly (readonly Corner[])[]) => ({
  type: 'Feature',
  id: 'a',
  geometry: { type: 'Polygon', coordinates: rings.map(closed) },
  properties: { objectType: 'annotation', ...(name === undefined ? {} : { classification: { name, color: [200, 0, 0] } }) }
})

export const collection = (...features: readonly object[]): string => JSON.stringify({ type: 'FeatureCollection', features })
