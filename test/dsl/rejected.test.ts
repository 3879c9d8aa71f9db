import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
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

cost('vgg19 at 20480 x 20480 checks within 3 s and 40,000 instantiations', () => {
  const check = () =>
    compile([], {
      'test/dsl/large.ts': `
      import { input, net } from '../../dsl'
      import { vgg19 } from '../../models'
      export const y = net(input([1, 3, 20480, 20480]), vgg19({ classes: 2, head: 'gap' }).layers)`
    })
  // A busy machine only adds time, so the best of some runs counts.
  const runs = [check(), check(), check()]
  const seconds = Math.min(...runs.map((run) => run.seconds))
  assert.equal(runs[0]!.mistakes, [])
  assert.ok(runs[0]!.instantiations < 40_000, `${runs[0]!.instantiations} instantiations`)
  assert.ok(seconds < 3, `${seconds} s`)
})

cost.run()
