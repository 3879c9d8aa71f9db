import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Model, PlanFile } from '../../dsl'
import { flatLayers, layerText, type PlannedLayer } from '../../dsl/internal'
import { vgg19 } from '../../models'
import { deepLayers } from './deep-model'
import { compile, root, type Mistake } from './compile'

/**
 * Each file of test/rejected holds mistakes; the comment above each says which sentence the
 * compiler must print there. No other line may be in error.
 */
const expectedIn = (file: string): readonly Mistake[] =>
  readFileSync(join(root, file), 'utf8')
    .split('\n')
    .flatMap((text, index) => {
      const [, message] = /^\s*\/\/ expects: (.*)$/.exec(text) ?? []
      return message === undefined ? [] : [{ file, line: index + 2, message }]
    })

const place = ({ file, line }: Mistake): string => `${file}:${line}`

const files = readdirSync(join(root, 'test/rejected')).map((name) => `test/rejected/${name}`)
const { mistakes } = compile(files)

const rejected = suite('rejected programs')

rejected('every mistake is annotated', () => assert.ok(files.flatMap(expectedIn).length > 200))

for (const file of files) {
  rejected(file, () => {
    const expected = expectedIn(file)
    const found = mistakes.filter((mistake) => mistake.file === file)
    assert.equal(found.map(place), expected.map(place), found.map((mistake) => `${place(mistake)} ${mistake.message}`).join('\n'))
    expected.forEach(({ message }, index) => assert.ok(found[index]!.message.includes(message), `${message}\n\n${found[index]!.message}`))
  })
}

rejected('the sentence stands in the first line, where it is not cut, but in a pipe, where functions are compared', () => {
  const late = files.flatMap((file) => {
    const found = new Map(mistakes.map((mistake) => [place(mistake), mistake.message.split('\n')[0]!]))
    const lines = readFileSync(join(root, file), 'utf8').split('\n')
    return expectedIn(file).filter(
      (expected) => !lines[expected.line - 1]!.startsWith('pipe(') && !found.get(place(expected))?.includes(expected.message)
    )
  })
  assert.equal(
    late.map(({ message }) => message),
    ['the function batchNorm is not a layer; call it, as in batchNorm()', 'the function conv2d is not a layer; call it, as in conv2d()']
  )
})

rejected('without strictNullChecks every program is told to set it, and why is said once a mistake', () => {
  const text = `
    import { pipe } from 'fp-ts/function'
    import { conv2d, input, model, net, planFor, relu } from '../../dsl'
    export const m = model({ name: 'm', input: [1, 3, 8, 8], layers: [relu] })
    export const n = net(input([1, 3, 8, 8]), [relu])
    export const p = pipe(input([1, 3, 8, 8]), conv2d({ out: 8, k: 3 }), relu)
    export const f = planFor({ name: 'm', layers: [relu] })({})`
  const loose = compile([], { 'test/dsl/loose.ts': text }, { strict: false, exactOptionalPropertyTypes: false }, false).mistakes.filter(
    ({ file }) => file === 'test/dsl/loose.ts'
  )
  assert.equal(
    loose.map(({ line }) => line),
    [4, 5, 6, 7]
  )
  for (const { message } of loose)
    assert.match(message.split('\n')[0]!, /the compiler option strictNullChecks is off: put \\"strict\\": true into tsconfig\.json/)
})

rejected('without exactOptionalPropertyTypes too, options that must be given are not undefined, and others may be', () => {
  const text = `
    import { conv2d, dropout, resize } from '../../dsl'
    export const f = (wanted?: number) => [
      conv2d({ out: wanted, k: 3 }),
      dropout({ rate: wanted }),
      conv2d({ out: 8, k: 3, groups: wanted }),
      resize({ mode: 'nearest', scale: 2, size: undefined })
    ]`
  const found = compile([], { 'test/dsl/inexact.ts': text }, { exactOptionalPropertyTypes: false }, false).mistakes
  assert.equal(
    found.map(({ line, message }) => [line, message.split('\n')[0]]),
    [4, 5].map((line) => [line, "Type 'number | undefined' is not assignable to type 'number'."])
  )
})

rejected('a name that comes again late in a long list is told', () => {
  const names = [...Array.from({ length: 250 }, (_, place) => `a${place}`), 'a3']
  const text = `
    import { model, named, relu } from '../../dsl'
    export const m = model({ name: 'm', layers: [${names.map((name) => `named('${name}', relu)`).join()}] })`
  const found = compile([], { 'test/dsl/repeating.ts': text }, {}, false).mistakes
  assert.match(found.map(({ message }) => message).join(), /^[^\n]*two layers are named a3; names must differ/)
})

rejected('nothing else is in error', () =>
  assert.equal(
    mistakes.filter(({ file }) => !files.includes(file)),
    []
  )
)

rejected.run()

const cost = suite('cost of types')

/** A busy machine only adds time, so the best of up to three runs counts. */
const checksWithin = (text: string, instantiations: number, seconds: number): void => {
  const run = () => compile([], { 'test/dsl/large.ts': text }, {}, false)
  const first = run()
  assert.equal(first.mistakes, [])
  assert.ok(first.instantiations < instantiations, `${first.instantiations} instantiations`)
  assert.ok(first.seconds < seconds || run().seconds < seconds || run().seconds < seconds, `over ${seconds} s, thrice`)
}

cost('vgg19 at 20480 x 20480 checks within 5 s and 32,000 instantiations, with all models beside it', () =>
  checksWithin(
    `
    import { input, net } from '../../dsl'
    import { vgg19 } from '../../models'
    export const y = net(input([1, 3, 20480, 20480]), vgg19({ classes: 2, head: 'gap' }).layers)`,
    32_000,
    5
  )
)

cost('152 layers in residual blocks with the sum of their bytes check within 6 s and 297,000 instantiations', () =>
  checksWithin(
    `
    import { checkpointWithin, input, net } from '../../dsl'
    import { deepLayers } from './deep-model'
    export const y = net(input([1, 3, 8192, 8192]), [...deepLayers, checkpointWithin(1e12)])`,
    297_000,
    6
  )
)

/**
 * A plan of segments that end before `ends` and at the end, all but the last one in tiles of `rows`
 * rows.
 */
const planOf = (model: Model, ends: readonly number[], input: readonly number[], rows: number): PlanFile => {
  const written = flatLayers(model.layers)
  const layers = [...written, { name: 'loss', op: 'softmaxCrossEntropy', args: {}, inputs: [written.length] }] as readonly PlannedLayer[]
  return {
    model: model.name,
    input,
    layers: layers.map(({ op, args }) => layerText(op, args)),
    order: layers.map((_, place) => place),
    strategy: 'by hand',
    device: { name: 'cpu', precision: 'float32', threads: 2 },
    objective: 'train with sgd',
    graph: '0'.repeat(64),
    budget: 2 ** 30,
    peak: 987654321,
    segments: [...ends, layers.length].map((to, index) => ({
      from: ends[index - 1] ?? 0,
      to,
      checkpoint: layers[to - 1]!.name,
      grid: to === layers.length ? { B: 1, H: 1, W: 1 } : { B: 1, H: rows, W: rows },
      recompute: to !== layers.length,
      reorder: 'each-tile',
      winograd: layers
        .slice(ends[index - 1] ?? 0, to)
        .flatMap(({ name, op, args }) => (/^conv2d \d+ k3 p1/.test(layerText(op, args)) ? [name] : []))
    })),
    predicted: { stepMilliseconds: 1234.5 }
  }
}

cost('vgg19 at 20480 x 20480 with a plan of many segments checks within 5 s and 30,000 instantiations', () =>
  checksWithin(
    `
    import { planFor } from '../../dsl'
    import { vgg19 } from '../../models'
    export default planFor(vgg19({ classes: 2, head: 'gap' }))(${JSON.stringify(planOf(vgg19({ classes: 2 }), [5, 10, 19, 28, 38], [1, 3, 20480, 20480], 40))})`,
    30_000,
    5
  )
)

cost('152 layers in residual blocks with a plan of a segment a batchNorm check within 6 s and 407,000 instantiations', () => {
  const deep = { name: 'deep', layers: deepLayers }
  const norms = flatLayers(deepLayers).flatMap(({ op }, place) => (op === 'batchNorm' ? [place] : []))
  checksWithin(
    `
    import { planFor } from '../../dsl'
    import { deepLayers } from './deep-model'
    export default planFor({ name: 'deep', layers: deepLayers })(${JSON.stringify(planOf(deep, norms, [1, 3, 8192, 8192], 4))})`,
    407_000,
    6
  )
})

cost.run()
