/** Programs of ranks that share the micro-batches of an update, for tests that edit them. */
import { isLeft } from 'fp-ts/Either'
import { batchNorm, conv2d, globalAvgPool, linear, model } from '../../dsl'
import { type Plan, type Staged, type Training, stage, verify } from '../../staging'
import { referenceModel } from '../../staging/devices/reference-model'
import type { Instruction, Program } from '../../staging/program/program'
import type { AllToAll } from '../../staging/program/rank-instructions'
import { must } from '../must'

const network = model({
  name: 'ranked',
  input: [2, 3, 8, 8],
  layers: [conv2d({ out: 4, k: 3, p: 1 }), batchNorm(), globalAvgPool, linear({ out: 2 })]
})

const stagedFor = (ranks: number, more: Partial<Training>, given?: Plan): Staged =>
  must(
    stage({
      model: network,
      device: referenceModel('float64'),
      strategy: 'plain',
      objective: { kind: 'train', optimizer: { kind: 'sgd', momentum: 0.9, weightDecay: 0 }, accumulate: 4, ranks, ...more },
      source: { kind: 'float' },
      ...(given && { given })
    })
  )

/** Gradients travel behind the backward pass, or beside it. */
export const programFor = (ranks: number, more: Partial<Training> = {}, beside = false): Program => {
  const found = stagedFor(ranks, more)
  const { overlapReduction: _, ...behind } = found.plan
  return beside ? found.program : stagedFor(ranks, more, behind).program
}

export type SectionOfRanks = 'step' | 'reduce' | 'update' | 'restore' | 'save'
type Change = (one: Instruction, index: number) => readonly Instruction[]

export const edited = (program: Program, section: SectionOfRanks, change: Change): Program => ({
  ...program,
  [section]: { ...program[section]!, code: program[section]!.code.flatMap(change) }
})

/** Changes the n-th exchange of a section. */
export const exchanged = (
  program: Program,
  section: SectionOfRanks,
  n: number,
  change: (one: AllToAll) => readonly Instruction[]
): Program => {
  let seen = -1
  return edited(program, section, (one) => (one.kind === 'allToAll' && ++seen === n ? change(one) : [one]))
}

export const sentenceOf = (program: Program): string => {
  const verified = verify(program)
  return isLeft(verified) ? verified.left.message : 'nothing is wrong'
}

/** Where a tensor lies that lives across sections. */
export const placeOf = ({ buffers }: Program, name: string): { readonly base: number; readonly buffer: number } => {
  const buffer = buffers.findIndex((one) => one.name === name)
  return { base: buffers[buffer]!.offset, buffer }
}
