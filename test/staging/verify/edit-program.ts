// Changes to Programs, for tests that break sound ones.
import type { Kernel } from '../../../staging'
import type { Address } from '../../../staging/program/address'
import type { Instruction, Program, Section } from '../../../staging/program/program'

type Path = readonly number[]
type Launch = Extract<Instruction, { readonly kind: 'launch' }>
export type SectionName = 'step' | 'restore' | 'save'

/** Every launch of a section with its path, in program order. */
export const launches = (
  program: Program,
  section: SectionName = 'step'
): readonly { readonly path: Path; readonly launch: Launch; readonly kernel: Kernel }[] => {
  const walk = (
    code: readonly Instruction[],
    path: Path
  ): readonly { readonly path: Path; readonly launch: Launch; readonly kernel: Kernel }[] =>
    code.flatMap((one, position) =>
      one.kind === 'loop'
        ? walk(one.body, [...path, position])
        : one.kind === 'launch'
          ? [{ path: [...path, position], launch: one, kernel: program.kernels[one.kernel]! }]
          : []
    )
  return walk(program[section].code, [])
}

/** Every instruction but loops, with its path, in program order. */
export const instructionsOf = (
  code: readonly Instruction[],
  path: Path = []
): readonly { readonly path: Path; readonly one: Instruction }[] =>
  code.flatMap((one, position) =>
    one.kind === 'loop' ? instructionsOf(one.body, [...path, position]) : [{ path: [...path, position], one }]
  )

/** Replaces the instruction at `path` by what `change` makes of it. */
export const replaceAt = (
  program: Program,
  section: SectionName,
  path: Path,
  change: (one: Instruction) => readonly Instruction[]
): Program => {
  const edit = (code: readonly Instruction[], [position, ...rest]: Path): readonly Instruction[] =>
    code.flatMap((one, at) =>
      at !== position ? [one] : rest.length > 0 && one.kind === 'loop' ? [{ ...one, body: edit(one.body, rest) }] : change(one)
    )
  const edited: Section = { ...program[section], code: edit(program[section].code, path) }
  return { ...program, [section]: edited }
}

export const drop = (program: Program, section: SectionName, path: Path): Program => replaceAt(program, section, path, () => [])

/** Changes one operand of the launch at `path`. */
export const changeOperand = (
  program: Program,
  section: SectionName,
  path: Path,
  operand: number,
  change: (address: Address) => Address
): Program =>
  replaceAt(program, section, path, (one) =>
    one.kind === 'launch' ? [{ ...one, operands: one.operands.map((address, at) => (at === operand ? change(address) : address)) }] : [one]
  )

export const shifted =
  (bytes: number) =>
  (address: Address): Address => ({ ...address, base: address.base + bytes })

/** Gives the launch at `path` a kernel with other fields. */
export const changeKernel = (program: Program, section: SectionName, path: Path, change: (kernel: Kernel) => Kernel): Program => {
  const { kernel } = launches(program, section).find((one) => one.path.join() === path.join())!
  return replaceAt({ ...program, kernels: [...program.kernels, change(kernel)] }, section, path, (one) => [
    { ...(one as Launch), kernel: program.kernels.length }
  ])
}

/** Moves a buffer and everything that is in it. */
export const moveBuffer = (program: Program, buffer: number, bytes: number): Program => {
  const address = (one: Address): Address => (one.buffer === buffer ? shifted(bytes)(one) : one)
  const move = (code: readonly Instruction[]): readonly Instruction[] =>
    code.map((one) =>
      one.kind === 'launch' ? { ...one, operands: one.operands.map(address) } : one.kind === 'loop' ? { ...one, body: move(one.body) } : one
    )
  const section = (one: Section): Section => ({ ...one, code: move(one.code) })
  return {
    ...program,
    buffers: program.buffers.map((one, at) => (at === buffer ? { ...one, offset: one.offset + bytes } : one)),
    persistentTensors: program.persistentTensors.map((one) =>
      one.offset === program.buffers[buffer]!.offset ? { ...one, offset: one.offset + bytes } : one
    ),
    step: section(program.step),
    restore: section(program.restore),
    save: section(program.save)
  }
}
