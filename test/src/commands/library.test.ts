/**
 * Every TypeScript example of the documents compiles, runs, and prints; the options of the library
 * are those of the command line.
 */
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as typescript from 'typescript'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { bench, plan, train } from '../../../src'
import { root, runScript, tilefold } from '../command-line'
import { compiledCommand } from '../compiled-command'
import { writeImages, writeMasks } from '../example-images'
import { failureOf, valueOf } from '../outcome'
import small from '../small-model'
import { temporaryFolder } from '../temporary-folder'

const folder = temporaryFolder()
const at = (name: string): string => join(folder, name)

/** The TypeScript blocks of a document, in turn, by the line that they stand on. */
const examplesOf = (document: string): readonly { readonly name: string; readonly text: string }[] => {
  const text = readFileSync(join(root, document), 'utf8')
  return [...text.matchAll(/^```ts\n(.*?)^```$/gms)].map((block) => ({
    name: `${document.replace(/\W/g, '-')}-line-${text.slice(0, block.index).split('\n').length + 1}`,
    text: block[1]!
  }))
}
const examples = ['README.md', 'src/README.md', 'docs/guide.md', 'docs/layers.md'].flatMap(examplesOf)

test.before(async () => {
  mkdirSync(at('node_modules'))
  for (const [to, from] of [
    [root, 'tilefold'],
    [join(root, 'node_modules', 'fp-ts'), 'fp-ts']
  ] as const)
    symlinkSync(to, at(join('node_modules', from)))
  for (const { name, text } of examples) writeFileSync(at(`${name}.ts`), text)
  await writeImages(at('images'))
  await writeMasks(folder)
})

test('there is an example of every function', () => {
  const called = (name: string): boolean =>
    examples.some(({ text }) => new RegExp(`^import .*\\b${name}\\b.* from 'tilefold'$`, 'm').test(text))
  for (const name of ['plan', 'explain', 'train', 'predict', 'gradients', 'bench', 'place', 'profile']) assert.ok(called(name), name)
})

test('the examples compile in a folder where the package is linked, and an option that is none does not', () => {
  const { config } = typescript.readConfigFile(join(root, 'tsconfig.json'), typescript.sys.readFile)
  const { options } = typescript.parseJsonConfigFileContent({ compilerOptions: config.compilerOptions }, typescript.sys, root)
  const paths = examples.map(({ name }) => at(`${name}.ts`))
  writeFileSync(at('unknown-option.ts'), `import { train } from 'tilefold'\nvoid train({ model: 'vgg16', data: 'images', stepz: 3 })\n`)
  const program = typescript.createProgram([...paths, at('unknown-option.ts')], {
    ...options,
    typeRoots: [join(root, 'node_modules', '@types')]
  })
  const faults = paths.flatMap((path) => [
    ...program.getSyntacticDiagnostics(program.getSourceFile(path)),
    ...program.getSemanticDiagnostics(program.getSourceFile(path))
  ])
  assert.equal(
    faults.map(({ file, messageText }) => `${file?.fileName}: ${typescript.flattenDiagnosticMessageText(messageText, ' ')}`),
    []
  )
  const [unknown] = program.getSemanticDiagnostics(program.getSourceFile(at('unknown-option.ts')))
  assert.match(
    typescript.flattenDiagnosticMessageText(unknown!.messageText, ' '),
    "'stepz' does not exist in type 'TrainOptions'. Did you mean to write 'steps'?"
  )
})

/** Where the package is JavaScript: as it is, but started in a tenth of the time. */
const compiledPackage = (): string => {
  const code = join(compiledCommand().script, '..', '..')
  mkdirSync(join(code, 'examples'), { recursive: true })
  return join(code, 'examples')
}

for (const { name, text } of examples) {
  test(`${name} runs`, async () => {
    const script = join(compiledPackage(), `${name}.js`)
    const { module, target } = { module: typescript.ModuleKind.CommonJS, target: typescript.ScriptTarget.ES2022 }
    writeFileSync(script, typescript.transpileModule(text, { compilerOptions: { module, target } }).outputText)
    const run = `process.chdir(${JSON.stringify(folder)}); require(${JSON.stringify(script)})`
    const { status, stdout, stderr } = await runScript(['-r', join(root, 'src', 'compile-late.js'), '-e', run])
    assert.is(stderr, '')
    assert.is(status, 0)
    assert.is(stdout !== '', text.includes('console.log'))
  })
}

test('a function and its command give the same', async () => {
  const { stdout } = await tilefold(['plan', 'vgg11', '--input', '1x3x256x256', '--budget', '80%', '--threads', '1', '--json'])
  const { planningMs: _, verifiedMs: _ms, ...command } = JSON.parse(stdout)
  const {
    planningMs: __,
    verifiedMs: __ms,
    ...library
  } = await valueOf(plan({ model: 'vgg11', input: [1, 3, 256, 256], budget: '80%', threads: 1 }))
  assert.equal(JSON.parse(JSON.stringify(library)), command)
})

test('a plan is taken as a value, and written as JSON; in TypeScript it needs a module to import', async () => {
  await valueOf(plan({ model: small, budget: 2 ** 20, out: at('small.json') }))
  const written = JSON.parse(readFileSync(at('small.json'), 'utf8'))
  const [given, path] = [
    await valueOf(bench({ model: small, plan: written, steps: 1 })),
    await valueOf(plan({ model: small, plan: at('small.json') }))
  ]
  assert.is(given.predictedPeakBytes, written.peak)
  assert.is(path.peakDeviceBytes, written.peak)
  const { code, message } = await failureOf(plan({ model: small, out: at('small.plan.ts') }))
  assert.is(code, 'input')
  assert.match(message, /small\.plan\.ts: a plan in TypeScript imports its model/)
})

test('a value that is none is one sentence with the code input', async () => {
  for (const [options, sentence] of [
    [{ budget: '1TB' }, /^budget: "1TB" is not a size/],
    [{ budget: 0 }, /^budget: "0" is not a size/],
    [{ threads: 1.5 }, /^threads is 1\.5, not a whole number from 1 to 1024$/],
    [{ input: [1, 3, 64] }, /^input is \[1,3,64\], not 4 whole numbers above zero/],
    [{ device: 'abacus' as 'cpu' }, /^device is "abacus", not one of cpu, cuda, reference, or the path of a \*\.json file$/],
    [{ clipNorm: -1 }, /^clipNorm is -1, not a number above zero$/],
    [{ paramGroup: ['features'] }, /^paramGroup\[0\]: "features" is not a group of parameters/],
    [{ model: 'vgg99' }, /^there is no model vgg99/]
  ] as const) {
    const { code, message } = await failureOf(plan({ model: small, ...options }))
    assert.match(message, sentence)
    assert.is(code, 'input')
  }
  for (const [options, sentence] of [
    [{ steps: 0 }, /^steps is 0, not a whole number from 1 to 1000000000$/],
    [{ lr: Number.NaN }, /^lr is NaN, not a number above zero$/],
    [{ schedule: 'never' }, /^schedule: "never" is not/],
    [{ validation: 1.5 }, /^validation is 1\.5, not a path, a share above 0 and below 1, or a dataset$/],
    [{ colourJitter: '1,1' }, /^colourJitter: "1,1" is not brightness/]
  ] as const) {
    const { code, message } = await failureOf(train({ model: small, data: at('images'), ...options }))
    assert.match(message, sentence)
    assert.is(code, 'input')
  }
})

test.run()
