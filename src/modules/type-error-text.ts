import { relative } from 'node:path'
import type TypeScript from 'typescript'
import type { TypeErrors } from './type-check'

type Diagnostic = TypeScript.Diagnostic
type Text = Diagnostic['messageText']

/** The compiler's messages in a row, the last of which says most closely what is wrong. */
const lines = (text: Text): readonly string[] =>
  typeof text === 'string' ? [text] : [text.messageText, ...(text.next ?? []).slice(0, 1).flatMap(lines)]

const questionPattern = /Did you mean [^?]+\?/

/** Types fill a screen, and say little. */
const withoutLongTypes = (text: string): string => text.replace(/'[^']{61,}'/g, "'…'")

interface RankedText {
  readonly text: string
  /** Order of telling: 0 is told first. */
  readonly rank: number
}
type PlacedText = RankedText & Pick<Diagnostic, 'file' | 'start'>

/**
 * The text of a diagnostic, and how much it tells: the DSL's own sentences, which stand inside the
 * compiler's as Invalid<"...">, tell most.
 */
const rankDiagnostic = ({ messageText, relatedInformation = [] }: Pick<Diagnostic, 'messageText' | 'relatedInformation'>): RankedText => {
  const all = lines(messageText)
  const own = /Invalid<"((?:[^"\\]|\\.)*)">/.exec(all.join(' '))?.[1]
  if (own !== undefined) return { text: own.replace(/\\(.)/g, '$1'), rank: 0 }
  const last = withoutLongTypes(all.at(-1)!)
  const question = relatedInformation.flatMap((related) => lines(related.messageText)).find((line) => questionPattern.test(line))
  if (questionPattern.test(last) || question !== undefined)
    return { text: [last.replace(/\.$/, ''), ...(question ? [question] : [])].join('. '), rank: 1 }
  return { text: last, rank: last.endsWith("to type 'never'.") ? 3 : 2 }
}

/** Tells whether compiler options are so loose that even what is right is refused. */
const isLoose = ({ strictNullChecks, strict }: TypeScript.CompilerOptions): boolean => !(strictNullChecks ?? strict ?? true)

/**
 * Returns one sentence for all that the compiler found: the most telling error, where it is, and
 * how many there are besides.
 */
export const typeErrorText = ({ diagnostics, options }: TypeErrors, entry: string): string => {
  const [{ file, start, rank, text: told }, ...others] = diagnostics
    .map(({ file, start, ...diagnostic }) => ({ file, start, ...rankDiagnostic(diagnostic) }))
    .sort((a, b) => a.rank - b.rank) as [PlacedText, ...unknown[]]
  const text = rank > 1 && isLoose(options) ? 'the compiler option strictNullChecks is off: put "strict": true into tsconfig.json' : told
  const place = file?.getLineAndCharacterOfPosition(start ?? 0)
  const where =
    file === undefined || place === undefined ? entry : `${relative('.', file.fileName)}:${place.line + 1}:${place.character + 1}`
  const rest = others.length > 0 ? ` (and ${others.length} more)` : ''
  return `${where}: ${text.replace(/\s+/g, ' ').replace(/\.$/, '')}${rest}`
}
