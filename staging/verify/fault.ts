import * as E from 'fp-ts/Either'

/** Which proof failed; `form` is a Program that the verifier cannot read at all. */
export type FaultKind =
  | 'form'
  | 'bounds'
  | 'overlap'
  | 'initialisation'
  | 'race'
  | 'seed'
  | 'stepIo'
  | 'exchange'
  | 'unread'
  | 'mapping'
  | 'peak'

/** The fault for which a Program must not run, in one sentence. */
export interface VerifierFault {
  readonly kind: FaultKind
  readonly message: string
  readonly section?: string
  /** Position in the section's list, then in each loop's body. */
  readonly path?: readonly number[]
  /** A kernel, or a copy by its engine. */
  readonly kernel?: string
  readonly operand?: string
  readonly buffer?: string
  /** Half-open range within the buffer, in bytes. */
  readonly bytes?: readonly [number, number]
}

/** An instruction, for sentences. */
export interface InstructionPlace {
  readonly section: string
  readonly path: readonly number[]
  readonly kernel: string
}

/** An instruction in words: "step, instruction 3.1 (gather)". */
export const placeText = ({ section, path, kernel }: InstructionPlace): string => `${section}, instruction ${path.join('.')} (${kernel})`

/** A half-open range of bytes in words. */
export const rangeText = ([from, to]: readonly [number, number]): string => `bytes ${from} .. ${to}`

/**
 * A fault of one operand: `sentence` goes on after "step, instruction 3.1 (gather): destination ".
 */
export const operandFault = (
  kind: FaultKind,
  place: InstructionPlace,
  operand: string,
  buffer: string,
  bytes: readonly [number, number],
  sentence: string
): VerifierFault => ({ kind, message: `${placeText(place)}: ${operand} ${sentence}.`, ...place, operand, buffer, bytes })

/** A fault of a whole instruction. */
export const instructionFault = (kind: FaultKind, place: InstructionPlace, sentence: string): VerifierFault => ({
  kind,
  message: `${placeText(place)}: ${sentence}.`,
  ...place
})

/** A fault on its way out of the walk that found it. */
class Found extends Error {
  constructor(readonly fault: VerifierFault) {
    super(fault.message)
  }
}

/** Ends the proof around it, however deep its walk is. */
export const fail = (fault: VerifierFault): never => {
  throw new Found(fault)
}

/** Ends the proof at a byte of a tensor; `sentence` goes on after its name. */
export const failAtByte = (section: string, buffer: string, at: number, sentence: string): never =>
  fail({ kind: 'exchange', message: `${section}: byte ${at} of "${buffer}" ${sentence}.`, section, buffer, bytes: [at, at + 1] })

/** A proof that walks a Program: what it computes, or the first fault that it met. */
export const catchFault = <A>(prove: () => A): E.Either<VerifierFault, A> => {
  try {
    return E.right(prove())
  } catch (thrown) {
    if (thrown instanceof Found) return E.left(thrown.fault)
    throw thrown
  }
}
