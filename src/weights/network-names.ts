import { earlierName } from '../../staging/graph/earlier-names'
import type { Graph } from '../../staging/graph/graph'
import type { WeightFile } from './weight-file'

/** Of a wrapper's name; a name that is all dots would be compared with itself for hours. */
const mostParts = 16

/**
 * The name of a parameter in files of before: those of DenseNet that torchvision gives out are from
 * when names of modules could have dots.
 */
const nameBefore = (model: string, name: string): string =>
  model.startsWith('densenet') ? name.replace(/(\bdenselayer\d+\.(?:norm|conv))(?=[12]\.)/, '$1.') : earlierName(model, name)

/** Of a DenseNet there are hundreds. */
const mostListed = 3

/** A file under other names, which `notice` tells; `rename` gives no two tensors the same. */
const withNames = (file: WeightFile, rename: (name: string) => string, notice: string): WeightFile => {
  const stored = new Map([...file.tensors.keys()].map((name) => [rename(name), name] as const))
  return {
    ...file,
    tensors: new Map([...stored].map(([name, there]) => [name, file.tensors.get(there)!])),
    read: (name, target) => file.read(stored.get(name) ?? name, target),
    notices: [...file.notices, notice]
  }
}

/** What may be put before a name: `a.` and `a.b.` of `a.b.c`, up to so many parts. */
const wrappersOf = (name: string): readonly string[] => {
  const parts = name.split('.', mostParts + 1).slice(0, -1)
  return parts.map((_, index) => `${parts.slice(0, index + 1).join('.')}.`)
}

/** What DataParallel (`module.`), torch.compile, Lightning and others put before each name. */
const findWrapper = (names: readonly string[], { model, parameters }: Names): string | undefined => {
  const known = new Set(parameters.flatMap(({ name }) => [name, nameBefore(model, name)]))
  const [first = ''] = names
  return wrappersOf(first).find(
    (wrapper) => names.every((name) => name.startsWith(wrapper)) && names.some((name) => known.has(name.slice(wrapper.length)))
  )
}

const withoutWrapper = (file: WeightFile, network: Names): WeightFile => {
  const names = [...file.tensors.keys()]
  const wrapper = network.parameters.some(({ name }) => file.tensors.has(name)) ? undefined : findWrapper(names, network)
  return wrapper === undefined
    ? file
    : withNames(
        file,
        (name) => name.slice(wrapper.length),
        `${file.path}: the names of its tensors are taken without "${wrapper}", with which they all begin`
      )
}

const withPresentNames = (file: WeightFile, { model, parameters }: Names): WeightFile => {
  const earlier = new Map(
    parameters.flatMap(({ name }) => {
      const before = nameBefore(model, name)
      return before === name || file.tensors.has(name) || !file.tensors.has(before) ? [] : [[before, name] as const]
    })
  )
  if (earlier.size === 0) return file
  const listed = [...earlier].slice(0, mostListed).map(([before, now]) => `${before} (now ${now})`)
  const rest = earlier.size > mostListed ? [`and ${earlier.size - mostListed} more`] : []
  return withNames(
    file,
    (name) => earlier.get(name) ?? name,
    `${file.path}: has earlier names of ${model}: ${[...listed, ...rest].join(', ')}`
  )
}

type Names = Pick<Graph, 'model' | 'parameters'>

/** A file under the names that a network has for its tensors. */
export const renameToNetwork = (file: WeightFile, network: Names): WeightFile => withPresentNames(withoutWrapper(file, network), network)
