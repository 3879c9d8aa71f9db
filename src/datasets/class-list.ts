import * as E from 'fp-ts/Either'

/** The label of pixels that do not count. */
export const ignoredLabel = 255

/** What labels and annotations call a class, and the class; 255 is ignored. */
export interface ClassAlias {
  readonly name: string
  readonly value: number
}

/** The classes by name. */
export interface ClassList {
  /** By class. */
  readonly names: readonly string[]
  /** In the order in which polygons are painted: a later one covers an earlier. */
  readonly aliases: readonly ClassAlias[]
}

/** How the polygons of an annotation file become classes of pixels. */
export interface AnnotationRules {
  /** By what the file calls them; a later one covers an earlier. */
  readonly aliases: readonly ClassAlias[]
  /** The class of pixels in no polygon; 255 is ignored. */
  readonly outside: number
}

/** The name of what does not count. */
const ignoredName = 'ignored'

/** A mask holds classes as bytes, of which one is the ignored one. */
export const maxNamedClasses = ignoredLabel

/**
 * Classes in order, each `name`, or `name=called` where files call it otherwise; a class may stand
 * there several times, and `ignored=called` does not count. Left is what is wrong, such as more
 * classes than `most`.
 */
export const parseClassList = (entries: readonly string[], most: number): E.Either<string, ClassList> => {
  const parts = entries.map((entry) => {
    const [name = '', ...called] = entry.split('=').map((part) => part.trim())
    return { name, called: called.length === 0 ? name : called.join('=') }
  })
  const names = [...new Set(parts.map(({ name }) => name))].filter((name) => name !== ignoredName)
  const valueOf = new Map([[ignoredName, ignoredLabel], ...names.map((name, value) => [name, value] as const)])
  const firstCalled = new Map(parts.map(({ called }, index) => [called, index] as const).reverse())
  const twice = parts.find(({ called }, index) => firstCalled.get(called)! < index)
  if (parts.some(({ name, called }) => name === '' || called === '')) return E.left('one of the names is empty')
  if (twice !== undefined) return E.left(`"${twice.called}" stands there twice`)
  if (names.length === 0) return E.left('it names no class')
  if (names.length > most) return E.left(`it has ${names.length} classes, over the ${most} that have a name`)
  return E.right({ names, aliases: parts.map(({ name, called }) => ({ name: called, value: valueOf.get(name)! })) })
}

/** The classes of names that are found in files: in their order. */
export const makeClassList = (found: readonly string[]): ClassList => {
  const names = [...new Set(found)].sort()
  return { names, aliases: names.map((name, value) => ({ name, value })) }
}

/** The class that files call so; undefined where the list has none. */
export const findClass = ({ aliases }: ClassList, name: string): number | undefined => aliases.find((alias) => alias.name === name)?.value

const mostShown = 8

/** The names that files may use, as a sentence lists them. */
export const classListText = ({ aliases }: Pick<ClassList, 'aliases'>): string =>
  [...aliases.slice(0, mostShown).map(({ name }) => name), ...(aliases.length > mostShown ? ['…'] : [])].join(', ')
