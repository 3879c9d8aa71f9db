import type { Program, Section } from '../program/program'

const isSection = (value: unknown): value is Section => typeof value === 'object' && value !== null && 'code' in value

/**
 * The sections of a Program by name; `restore` first, since the others begin with what it leaves.
 */
export const listSections = (program: Program): readonly (readonly [string, Section])[] => {
  const sections = Object.entries(program).filter((entry): entry is [string, Section] => isSection(entry[1]))
  return [...sections.filter(([name]) => name === 'restore'), ...sections.filter(([name]) => name !== 'restore')]
}
