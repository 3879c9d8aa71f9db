import { createRequire } from 'node:module'
import * as E from 'fp-ts/Either'
import * as t from 'io-ts'
import { pipe } from 'fp-ts/function'

const coordinateSystem = t.readonly(t.type({ authority: t.literal('EPSG'), wkt: t.string }))

type Lookup = (code: number) => unknown

let lookup: Lookup | undefined

/** Loaded at first use: its tables are 15 MB. Throws where it is not installed. */
const loadLookup = (): Lookup => (lookup ??= (createRequire(__filename)('@esri/proj-codes') as { readonly lookup: Lookup }).lookup)

/**
 * Returns the coordinate system of an EPSG code as a .prj file has it, in ESRI's well-known text
 * (from the package @esri/proj-codes), or one sentence where that is not known.
 */
export const projectionText = (epsg: number): E.Either<string, string> =>
  pipe(
    E.tryCatch(
      () => loadLookup()(epsg),
      () => `no .prj is written for EPSG:${epsg}, since the package that knows it is not installed: run npm install @esri/proj-codes@3`
    ),
    E.chain((found) =>
      pipe(
        coordinateSystem.decode(found),
        E.bimap(
          () => `no .prj is written for EPSG:${epsg}, which @esri/proj-codes does not know`,
          ({ wkt }) => wkt
        )
      )
    )
  )
