import { open } from 'node:fs/promises'
import type { Outcome } from '../failure'
import { replaceFileAtomic } from '../files/atomic-write'
import { colourOfClass } from './colours'
import type { PixelRows } from './pixel-rows'
import { type TracedPolygon, tracePolygons } from './trace-polygons'

interface GeoJsonOptions {
  /** Names of the classes; their numbers where absent. */
  readonly names?: readonly string[] | undefined
  /** Pixels of the finest level that a pixel is wide and high. */
  readonly scale: readonly [x: number, y: number]
  /** The class that is left out. */
  readonly background?: number | undefined
}

const round = (value: number): number => Math.round(value * 1000) / 1000

/** A polygon as QuPath takes it: an annotation with a class. */
const featureText = ({ value, rings }: TracedPolygon, { names, scale: [across, down] }: GeoJsonOptions): string =>
  JSON.stringify({
    type: 'Feature',
    geometry: { type: 'Polygon', coordinates: rings.map((ring) => ring.map(([x, y]) => [round(x * across), round(y * down)])) },
    properties: { objectType: 'annotation', classification: { name: names?.[value] ?? `${value}`, color: colourOfClass(value) } }
  })

const bufferedLength = 2 ** 20

/**
 * Writes the connected pixels of each class as polygons with holes along the sides of pixels, a
 * feature a line; coordinates are in pixels of the finest level.
 */
export const writeGeoJson = (path: string, pixels: PixelRows, options: GeoJsonOptions): Outcome<void> =>
  replaceFileAtomic(path, async (temporary) => {
    const file = await open(temporary, 'w')
    try {
      let waiting = '{"type":"FeatureCollection","features":['
      let separator = '\n'
      const take = async (polygon: TracedPolygon): Promise<void> => {
        waiting += `${separator}${featureText(polygon, options)}`
        separator = ',\n'
        if (waiting.length < bufferedLength) return
        await file.writeFile(waiting)
        waiting = ''
      }
      await tracePolygons(pixels, take, options.background)
      await file.writeFile(`${waiting}\n]}\n`)
    } finally {
      await file.close()
    }
  })
