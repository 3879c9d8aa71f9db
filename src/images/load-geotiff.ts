import { createRequire } from 'node:module'
import type * as GeoTiff from 'geotiff'

let loaded: typeof GeoTiff | undefined

/** Loaded at first use, for images whose values are read as they are stored. */
export const loadGeoTiff = (): typeof GeoTiff => (loaded ??= createRequire(__filename)('geotiff') as typeof GeoTiff)
