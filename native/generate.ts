/**
 * The C++ of what staging declares of kernels: `npm run generate` writes it to
 * native/src/generated, and a test holds it against what is written there.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { absentFields, kernelFields, type Fields, type FieldType } from '../staging/kernels/kernel-fields'
import type { KernelRow, Use } from '../staging/kernels/kernel-row'
import { kernelKinds, getKernelRow } from '../staging/kernels/kernels'
import { compiledExpressions, operandCount, operations, type Operation } from '../staging/pointwise/compiled'
import { stepNumbers } from '../staging/pointwise/encode'

const rows = kernelKinds.map((kind): readonly [string, KernelRow] => [kind, getKernelRow(kind)])
type Struct = readonly [name: string, fields: Fields]
const shared: readonly Struct[] = Object.entries(kernelFields)
const fieldsText = (fields: Fields): string => Object.entries(fields).join()
const withoutLast = (fields: Fields): Fields => Object.fromEntries(Object.entries(fields).slice(0, -1))
const countFields = (fields: Fields): number => Object.keys(fields).length
/** Tells whether these are the fields of a struct, perhaps without its last. */
const isHeldBy =
  (fields: Fields) =>
  ([, held]: Struct): boolean =>
    fieldsText(fields) === fieldsText(held) || fieldsText(fields) === fieldsText(withoutLast(held))
/** A kernel with fields of its own has a struct by its name. */
const structs: readonly Struct[] = [
  ...shared,
  ...rows.flatMap(([kind, { fields }]): readonly Struct[] => (shared.some(isHeldBy(fields)) ? [] : [[kind, fields]]))
]

/** A field's type in C++, and the method of FieldReader that reads it. */
const readers: { readonly [T in FieldType]: { readonly type: string; readonly method: string } } = {
  integer: { type: 'std::int64_t', method: 'integer' },
  size: { type: 'std::int64_t', method: 'integer' },
  number: { type: 'double', method: 'number' },
  multiplier: { type: 'double', method: 'number' },
  flag: { type: 'bool', method: 'flag' },
  layout: { type: 'Layout', method: 'layout' },
  numbers: { type: 'std::vector<double>', method: 'numbers' }
}

const capitalise = (name: string): string => name[0]!.toUpperCase() + name.slice(1)
const beginsWith = (fields: Fields, start: Fields): boolean =>
  countFields(start) < countFields(fields) && fieldsText(fields).startsWith(`${fieldsText(start)},`)

/** The struct with the most fields that these begin with. */
const findBase = (fields: Fields): Struct | undefined =>
  structs.filter(([, start]) => beginsWith(fields, start)).sort(([, a], [, b]) => countFields(b) - countFields(a))[0]

/** A struct behind the one that it derives from, wherever its row stands. */
const basesFirst = (all: readonly Struct[], one: Struct): readonly Struct[] => {
  const base = findBase(one[1])
  return all.includes(one) ? all : [...(base === undefined ? all : basesFirst(all, base)), one]
}

const orderedStructs = structs.reduce(basesFirst, [])

/** Some kernel ends just before the struct's last field. */
const mayEndBefore = (fields: Fields): boolean => {
  const before = fieldsText(withoutLast(fields))
  return rows.some(([, row]) => fieldsText(row.fields) === before) && !structs.some(([, other]) => fieldsText(other) === before)
}

/** Fields n0, n1, ... are the elements of one array n. */
const members = (fields: readonly string[]): readonly (readonly [name: string, count: number])[] =>
  fields.reduce<readonly (readonly [string, number])[]>((all, field) => {
    const [, stem, digit] = /^(.*)(\d)$/.exec(field) ?? []
    if (stem === undefined || !fields.includes(`${stem}0`)) return [...all, [field, 1]]
    return digit === '0' ? [...all, [stem, 1]] : [...all.slice(0, -1), [stem, Number(digit) + 1]]
  }, [])

const ownMembers = (fields: Fields): ReturnType<typeof members> =>
  members(Object.keys(fields).slice(countFields(findBase(fields)?.[1] ?? {})))
const chooseReader = (fields: Fields, member: string) => readers[fields[member] ?? fields[`${member}0`]!]

const struct = ([name, fields]: Struct): string => {
  const base = findBase(fields)
  return [
    `struct ${capitalise(name)}${base === undefined ? '' : ` : ${capitalise(base[0])}`} {`,
    `  explicit ${capitalise(name)}(FieldReader& f);`,
    ...ownMembers(fields).map(([member, count]) => {
      const { type } = chooseReader(fields, member)
      return `  ${count === 1 ? type : `std::array<${type}, ${count}>`} ${member};`
    }),
    '};'
  ].join('\n')
}

/** The constructor of a struct: reads its fields in order. */
const constructor = ([name, fields]: Struct): string => {
  const base = findBase(fields)
  const last = Object.keys(fields).at(-1)!
  const read = (member: string): string => {
    const value = `f.${chooseReader(fields, member).method}()`
    return member === last && mayEndBefore(fields) ? `f.end() ? ${absentFields[member as keyof typeof absentFields]} : ${value}` : value
  }
  const initialisers = [
    ...(base === undefined ? [] : [`${capitalise(base[0])}(f)`]),
    ...ownMembers(fields).map(([member, count]) =>
      count === 1 ? `${member}(${read(member)})` : `${member}{${Array.from({ length: count }, () => read(member)).join(', ')}}`
    )
  ]
  return `${capitalise(name)}::${capitalise(name)}(FieldReader& f)\n    : ${initialisers.join(',\n      ')} {}`
}

const quote = (names: readonly string[]): string => names.map((name) => `"${name}"`).join(', ')

const operand = ({ optional = [], inPlace = [] }: KernelRow, name: string, use: Use): string =>
  `{"${name}", Use::${use}, ${optional.includes(name)}, ${inPlace.includes(name)}}`

const row = ([name, declared]: readonly [string, KernelRow]): string =>
  [
    `      {"${name}",`,
    `       {${quote(Object.keys(declared.fields))}},`,
    `       ${Object.values(declared.fields).at(-1) === 'numbers'},`,
    `       {${Object.entries(declared.operands)
      .map(([operandName, use]) => operand(declared, operandName, use))
      .join(',\n        ')}}},`
  ].join('\n')

/** C++ of what a compiled expression reads: elements of tiles, and constants. */
const leafTexts: { readonly [O in Operation]?: (constant: string) => string } = {
  input: () => 'input',
  gradient: () => 'gradient',
  constant: (value) => `static_cast<float>(${value})`
}

const literal = (value: number): string => (Number.isInteger(value) ? `${value}.0` : `${value}`)

/** An encodeToFloats expression as a type: its code, and the function that it computes. */
const compileExpression = (name: string, code: readonly number[]): string => {
  const values: string[] = []
  const lines = Array.from({ length: code.length / stepNumbers }, (_, step) => {
    const [operation, destination, ...numbers] = code.slice(step * stepNumbers, (step + 1) * stepNumbers) as [number, number, ...number[]]
    const own = operations[operation]!
    const operands = numbers.map((register, index) => (index < operandCount(own) ? values[register]! : '0.0F'))
    const text = leafTexts[own]?.(literal(numbers[0]!)) ?? `compute<Operation::${own}>(${operands.join(', ')})`
    values[destination] = `v${step}`
    return `    const float v${step} = ${text};`
  })
  return [
    `struct ${capitalise(name)} {`,
    `  static constexpr double code[] = {${code.map(literal).join(', ')}};`,
    '  static TILEFOLD_HOST_DEVICE_INLINE float evaluate(float input, [[maybe_unused]] float gradient) {',
    ...lines,
    `    return v${lines.length - 1};`,
    '  }',
    '};'
  ].join('\n')
}

const file = (...parts: readonly string[]): string =>
  ['// Written by "npm run generate" from staging/kernels and dsl/expression.', ...parts, ''].join('\n')
const inNamespace = (...parts: readonly string[]): string =>
  ['namespace tilefold {', '', ...parts, '', '}  // namespace tilefold'].join('\n')

/** Each file of native/src/generated, and its text. */
export const generateFiles: { readonly [file: string]: string } = {
  'kernels.hpp': file(
    '#pragma once',
    '#include <array>',
    '#include <vector>',
    '',
    '#include "../kernels/layout.hpp"',
    '',
    inNamespace(
      "// A kernel's position is its code in a Program.",
      'enum class KernelKind : int {',
      rows.map(([name]) => `  ${name}`).join(',\n'),
      '};',
      '',
      '// The fields of kernels, read in order (kernel_fields.hpp).',
      'class FieldReader;',
      '',
      orderedStructs.map(struct).join('\n\n')
    )
  ),
  'kernels.cpp': file(
    '#include "../kernels/field_reader.hpp"',
    '#include "../kernels/kernels.hpp"',
    '',
    inNamespace(
      'const std::vector<KernelInfo>& kernelTable() {',
      '  static const std::vector<KernelInfo> table{',
      ...rows.map(row),
      '  };',
      '  return table;',
      '}',
      '',
      orderedStructs.map(constructor).join('\n\n')
    )
  ),
  'expressions.hpp': file(
    '#pragma once',
    '#include "../kernels/expression.hpp"',
    '',
    inNamespace(
      compiledExpressions.map(({ name, code }) => compileExpression(name, code)).join('\n\n'),
      '',
      `#define TILEFOLD_EXPRESSIONS(visit) ${compiledExpressions.map(({ name }) => `visit(${capitalise(name)})`).join(' ')}`
    )
  ),
  'operations.hpp': file(
    '#pragma once',
    '',
    inNamespace(
      '// What an expression is made of: its code is its position.',
      'enum class Operation : int {',
      operations.map((name) => `  ${name}`).join(',\n'),
      '};',
      '',
      `constexpr int operationCount = ${operations.length};`,
      '',
      '// Those that compute something from operands.',
      `#define TILEFOLD_OPERATIONS(visit) ${operations
        .filter((name) => operandCount(name) > 0)
        .map((name) => `visit(${name})`)
        .join(' ')}`
    )
  )
}

/** The folder of the C++ that is written from the tables in TypeScript. */
export const generatedFolder = join(__dirname, 'src', 'generated')

if (require.main === module) for (const [name, text] of Object.entries(generateFiles)) writeFileSync(join(generatedFolder, name), text)
