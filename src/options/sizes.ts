import * as E from 'fp-ts/Either'

/** A size as the user writes it: bytes, or a share of what the plain strategy needs. */
export type Size = { readonly kind: 'bytes'; readonly bytes: number } | { readonly kind: 'ofPlain'; readonly fraction: number }

const unitBytes: Readonly<Record<string, number>> = {
  '': 1,
  B: 1,
  KiB: 2 ** 10,
  MiB: 2 ** 20,
  GiB: 2 ** 30,
  KB: 1e3,
  MB: 1e6,
  GB: 1e9
}

/** The largest share of what plain needs that a size may be. */
const maxPercent = 1e6

const sizeParser =
  (mayBeZero: boolean) =>
  (text: string): E.Either<string, Size> => {
    const [, digits, unit = ''] = /^(\d+(?:\.\d+)?)\s*([A-Za-z]*|%)$/.exec(text.trim()) ?? []
    const value = Number(digits)
    if (digits === undefined || (value === 0 && !mayBeZero)) return E.left(notASize(text))
    if (unit === '%') return value <= maxPercent ? E.right({ kind: 'ofPlain', fraction: value / 100 }) : E.left(notASize(text))
    const scale = unitBytes[unit]
    const bytes = scale === undefined ? NaN : Math.floor(value * scale)
    return Number.isSafeInteger(bytes) && (bytes > 0 || value === 0) ? E.right({ kind: 'bytes', bytes }) : E.left(notASize(text))
  }

/** `1.5GiB`, `256MB`, `1048576` (bytes), `20%` (of plain); otherwise a sentence. */
export const parseSize = sizeParser(false)

/** `1.5GiB`, `256MB`, `1048576` (bytes), `20%` (of plain), or `0`; otherwise a sentence. */
export const parseSizeOrZero = sizeParser(true)

/** `64KiB` where there is no plain to have a share of: bytes; otherwise a sentence. */
export const parseBytes = (text: string): E.Either<string, number> => {
  const size = parseSize(text)
  return E.isRight(size) && size.right.kind === 'bytes'
    ? E.right(size.right.bytes)
    : E.left(`"${text}" is not a size: write bytes, KiB MiB GiB, or KB MB GB`)
}

/** `2GB/s`, `500MiB/s`: bytes per second; otherwise a sentence. */
export const parseRate = (text: string): E.Either<string, number> => {
  const size = text.trim().endsWith('/s') ? parseSize(text.trim().slice(0, -2)) : E.left('')
  return E.isRight(size) && size.right.kind === 'bytes'
    ? E.right(size.right.bytes)
    : E.left(`"${text}" is not a rate: write 2GB/s, or another size with /s`)
}

/** A share above 0 and below 1, as a number or in percent; undefined where the text is none. */
export const parseFraction = (text: string): number | undefined => {
  const [, digits, percent] = /^(\d*\.?\d+)(%?)$/.exec(text) ?? []
  const fraction = Number(digits) / (percent === '%' ? 100 : 1)
  return fraction > 0 && fraction < 1 ? fraction : undefined
}

const notASize = (text: string) => `"${text}" is not a size: write bytes, KiB MiB GiB, KB MB GB, or N% of what plain needs`
