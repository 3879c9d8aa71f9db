import { join } from 'node:path'
import * as ts from 'typescript'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { compile, options, root } from './compile'

/** A program as a person writes it; a comment marks a place. */
const program = `
import { pipe } from 'fp-ts/function'
import { conv2d, globalAvgPool, input, linear, maxPool2d, model, modelOf, net, planFor, relu, seq } from '../../dsl'
import { resnet152 } from '../../models'

const block = seq('features', [conv2d({ out: 8, /*option*/p: 1, k: 3 }), relu, maxPool2d({ k: 2 })])
const /*tensor*/scores = net(input([1, 3, 64, 64]), [block, globalAvgPool, linear({ out: 2 })])
const /*piped*/piped = pipe(input([1, 3, 64, 64]), conv2d({ out: 8, k: 3 }), relu)
const /*deep*/deep = net(input([1, 3, 224, 224]), resnet152({ classes: 5 }).layers)
const /*own*/own = model({ name: 'own', input: [1, 3, 64, 64], layers: [block, globalAvgPool, linear({ out: 2 })] })
const /*open*/open = model({ name: 'open', layers: [block, globalAvgPool, linear({ out: 2 })] })
const /*made*/made = modelOf('made', piped)
const /*resnet*/resnet = resnet152({ classes: 5 })
const alone = conv2d({ /*alone*/ })
const listed = model({ name: 'listed', layers: [relu, conv2d({ out: 8, k: 3, /*listed*/ }), relu] })
const planned = planFor(own)({ /*plan*/ })
`
const path = join(root, 'test/dsl/program.ts')

const service = ts.createLanguageService({
  getScriptFileNames: () => [path],
  getScriptVersion: () => '1',
  getScriptSnapshot: (file) => {
    const text = file === path ? program : ts.sys.readFile(file)
    return text === undefined ? undefined : ts.ScriptSnapshot.fromString(text)
  },
  getCurrentDirectory: () => root,
  getCompilationSettings: () => options,
  getDefaultLibFileName: ts.getDefaultLibFilePath,
  fileExists: (file) => file === path || ts.sys.fileExists(file),
  readFile: ts.sys.readFile
})

const placeOf = (name: string): number => program.indexOf(`/*${name}*/`) + `/*${name}*/`.length
const hover = (name: string): { readonly type: string; readonly words: string } => {
  const info = service.getQuickInfoAtPosition(path, placeOf(name))
  return { type: ts.displayPartsToString(info?.displayParts), words: ts.displayPartsToString(info?.documentation) }
}
const completions = (name: string): readonly string[] =>
  service.getCompletionsAtPosition(path, placeOf(name), {})?.entries.map((entry) => entry.name) ?? []
const wordsAbout = (name: string, entry: string): string =>
  ts.displayPartsToString(service.getCompletionEntryDetails(path, placeOf(name), entry, {}, undefined, {}, undefined)?.documentation)

const editor = suite('in an editor')

editor("a tensor's shape and the dimensions along which it can be tiled stand first", () => {
  const starts = (name: string, type: string) => assert.ok(hover(name).type.startsWith(`const ${name}: ${type}`), hover(name).type)
  assert.match(hover('tensor').type, /^const scores: Tensor<readonly \[1, 2\], "B", /)
  starts('piped', 'Tensor<readonly [1, 8, 62, 62], Dim, ')
  starts('deep', 'Tensor<readonly [1, 5], never, ')
})

editor("a model's name, input and output stand first", () => {
  assert.match(hover('own').type, /^const own: Model<"own", readonly \[1, 3, 64, 64\], readonly \[1, 2\], /)
  assert.match(hover('open').type, /^const open: Model<"open", .*, readonly \[number, 2\], /)
  assert.match(hover('made').type, /^const made: Model<"made", readonly \[1, 3, 64, 64\], readonly \[1, 8, 62, 62\], /)
  assert.match(hover('resnet').type, /^const resnet: Network<"resnet152", /)
})

editor('an option says what it is', () => {
  assert.match(hover('option').words, /^Zeros around the image, in pixels/)
})

editor("only a layer's own options are offered, alone and in a list, with words", () => {
  const own = ['out', 'k', 's', 'p', 'd', 'groups', 'bias']
  assert.equal([...completions('alone')].sort(), [...own].sort())
  assert.equal([...completions('listed')].sort(), own.filter((name) => name !== 'out' && name !== 'k').sort())
  for (const option of own) assert.ok(wordsAbout('alone', option).length > 10, option)
  assert.ok(wordsAbout('listed', 'groups').length > 10)
  assert.ok(completions('plan').includes('segments'))
  assert.ok(wordsAbout('plan', 'peak').length > 10)
})

editor('every option of every layer has words', () => {
  const checker = service.getProgram()!.getTypeChecker()
  const files = ['dsl/arguments.ts', 'dsl/ops/index.ts'].map((file) => service.getProgram()!.getSourceFile(join(root, file))!)
  const rows = files
    .flatMap(({ statements }) => statements.filter(ts.isInterfaceDeclaration))
    .filter(({ name }) => ['OpArguments', 'DirectiveArguments'].includes(name.text))
  const options = rows.flatMap((row) =>
    checker
      .getTypeAtLocation(row)
      .getProperties()
      .flatMap((op) =>
        checker
          .getTypeOfSymbol(op)
          .getProperties()
          .map((option) => [`${op.name}.${option.name}`, ts.displayPartsToString(option.getDocumentationComment(checker))] as const)
      )
  )
  assert.ok(options.length > 50)
  assert.equal(
    options.filter(([, words]) => words.length < 10).map(([name]) => name),
    []
  )
})

editor('what people export has declarations', () => {
  const text = `
    import { checkpointWithin, conv2d, denseBlock, model, named, net, input, parallel, planFor, relu, residual, seq, tile } from '../../dsl'
    import { vgg11 } from '../../models'
    export const listed = seq([relu])
    export const sequence = seq('a', [relu])
    export const called = named('b', relu)
    export const block = residual([relu], [relu])
    export const branches = parallel([[relu], []])
    export const grown = denseBlock([conv2d({ out: 8, k: 3, p: 1 })])
    export const within = checkpointWithin(1e9)
    export const tiles = tile({ H: 2 })
    export const family = <const C extends number>(classes: C) => model({ name: 'm', input: [1, 3, 8, 8], layers: [listed, conv2d({ out: classes, k: 1 })] })
    export const tensor = net(input([1, 3, 8, 8]), [listed, sequence, called, block, branches, grown, within, tiles])
    export const vgg = vgg11({ classes: 2 })
    export const planOf = planFor(vgg)
    export default model({ name: 'm', layers: [listed, sequence, called, block, branches, grown] })`
  const { mistakes } = compile(['dsl/index.ts', 'models/index.ts'], { 'test/dsl/declared.ts': text }, { declaration: true })
  assert.equal(mistakes, [])
})

editor.run()
