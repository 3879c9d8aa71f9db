import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { flatLayers, layerText, type Plan, type PlannedLayer } from '../../dsl'
import { vgg19 } from '../../models'
import { compile, root, type Mistake } from './compile'

/**
 * Each file of test/rejected holds mistakes; the comment above each says which sentence the compiler must print there.
 * No other line may be in error.
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

rejected('every mistake is annotated', () => assert.ok(files.flatMap(expectedIn).length > 40))

for (const file of files) {
  rejected(file, () => {
    const expected = expectedIn(file)
    const found = mistakes.filter((mistake) => mistake.file === file)
    assert.equal(found.map(place), expected.map(place), found.map((mistake) => `${place(mistake)} ${mistake.message}`).join('\n'))
    expected.forEach(({ message }, index) => assert.ok(found[index]!.message.includes(message), `${message}\n\n${found[index]!.message}`))
  })
}

rejected('nothing else is in error', () =>
  assert.equal(
    mistakes.filter(({ file }) => !files.includes(file)),
    []
  )
)

rejected.run()

const cost = suite('cost of types')

/** A busy machine only adds time, so the best of some runs counts. */
const checksWithin = (text: string, instantiations: number, seconds: number): void => {
  const runs = [1, 2, 3].map(() => compile([], { 'test/dsl/large.ts': text }))
  const fastest = Math.min(...runs.map((run) => run.seconds))
  assert.equal(runs[0]!.mistakes, [])
  assert.ok(runs[0]!.instantiations < instantiations, `${runs[0]!.instantiations} instantiations`)
  assert.ok(fastest < seconds, `${fastest} s`)
}

cost('vgg19 at 20480 x 20480 checks within 3 s and 40,000 instantiations', () =>
  checksWithin(
    `
    import { input, net } from '../../dsl'
    import { vgg19 } from '../../models'
    export const y = net(input([1, 3, 20480, 20480]), vgg19({ classes: 2, head: 'gap' }).layers)`,
    40_000,
    3
  )
)

cost('vgg19 at 20480 x 20480 with a plan of many segments checks within 3 s and 40,000 instantiations', () => {
  const model = vgg19({ classes: 2, head: 'gap' })
  const written = flatLayers(model.layers)
  const layers = [...written, { name: 'loss', op: 'softmaxCrossEntropy', args: {}, inputs: [written.length] }] as readonly PlannedLayer[]
  const ends = [5, 10, 19, 28, 38, layers.length]
  const plan: Plan = {
    model: 'vgg19',
    input: [1, 3, 20480, 20480],
    layers: layers.map(({ op, args }) => layerText(op, args)),
    order: layers.map((_, place) => place),
    strategy: 'by hand',
    device: { name: 'cpu', precision: 'float32', threads: 2 },
    objective: 'train with sgd',
    graph: '0'.repeat(64),
    budget: 2 ** 30,
    peak: 987654321,
    segments: ends.map((to, index) => ({
      from: ends[index - 1] ?? 0,
      to,
      checkpoint: layers[to - 1]!.name,
      grid: to === layers.length ? { B: 1, H: 1, W: 1 } : { B: 1, H: 40, W: 40 },
      recompute: to !== layers.length,
      reorder: 'each-tile',
      winograd: layers.slice(ends[index - 1] ?? 0, to).flatMap(({ name, op }) => (op === 'conv2d' ? [name] : []))
    })),
    predicted: { stepMilliseconds: 1234.5 }
  }
  checksWithin(
    `
    import { planFor } from '../../dsl'
    import { vgg19 } from '../../models'
    export default planFor(vgg19({ classes: 2, head: 'gap' }))(${JSON.stringify(plan)})`,
    40_000,
    3
  )
})

cost.run()
