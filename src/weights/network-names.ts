import { earlierName } from '../../staging/graph/earlier-names'
import type { Graph } from '../../staging/graph/graph'
import type { WeightFile } from './weight-file'

/** A file whose tensors are called otherwise than in it, or as they are, with a sentence on why. */
interface Renamed {
  readonly file: WeightFile
  readonly notice?: string
}

/** Returns a file under other names; `rename` must give no two tensors the same. */
const withNames = (file: WeightFile, rename: (name: string) => string): WeightFile => {
  const stored = new Map([...file.tensors.keys()].map((name) => [rename(name), name] as const))
  return {
    ...file,
    tensors: new Map([...stored].map(([name, there]) => [name, file.tensors.get(there)!])),
    read: (name, target) => file.read(stored.get(name) ?? name, target)
  }
}

/** What DataParallel (`module.`), torch.compile, Lightning and others put before each name. */
const findWrapper = (names: readonly string[], { model, parameters }: Names): string | undefined => {
  const known = new Set(parameters.flatMap(({ name }) => [name, earlierName(model, name)]))
  const [first = ''] = names
  const dots = [...first].flatMap((letter, index) => (letter === '.' ? [index + 1] : []))
  return dots
    .map((end) => first.slice(0, end))
    .find((wrapper) => names.every((name) => name.startsWith(wrapper)) && names.some((name) => known.has(name.slice(wrapper.length))))
}

const withoutWrapper = (file: WeightFile, network: Names): Renamed => {
  const names = [...file.tensors.keys()]
  const wrapper = network.parameters.some(({ name }) => file.tensors.has(name)) ? undefined : findWrapper(names, network)
  return wrapper === undefined
    ? { file }
    : {
        file: withNames(file, (name) => name.slice(wrapper.length)),
        notice: `${file.path}: the names of its tensors are taken without "${wrapper}", with which they all begin`
      }
}

const withPresentNames = (file: WeightFile, { model, parameters }: Names): Renamed => {
  const earlier = new Map(
    parameters.flatMap(({ name }) => {
      const before = earlierName(model, name)
      return before === name || file.tensors.has(name) || !file.tensors.has(before) ? [] : [[before, name] as const]
    })
  )
  return earlier.size === 0
    ? { file }
    : {
        file: withNames(file, (name) => earlier.get(name) ?? name),
        notice: `${file.path}: has earlier names of ${model}: ${[...earlier].map(([before, now]) => `${before} (now ${now})`).join(', ')}`
      }
}

type Names = Pick<Graph, 'model' | 'parameters'>

/**
 * A file under the names that a network has for its tensors, and a sentence on each thing that is
 * read otherwise than it stands there.
 */
export const renameToNetwork = (file: WeightFile, network: Names): { readonly file: WeightFile; readonly notices: readonly string[] } => {
  const bare = withoutWrapper(file, network)
  const present = withPresentNames(bare.file, network)
  return { file: present.file, notices: [...file.notices, ...[bare.notice, present.notice].flatMap((notice) => notice ?? [])] }
}
