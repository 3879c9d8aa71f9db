import type { ClassList } from './class-list'

/** Parts of a data file that its column `split` tells apart. */
export const splitParts = ['train', 'validation', 'test'] as const

/** A part of a data file that its column `split` names. */
export type SplitPart = (typeof splitParts)[number]

/** How data are read, beside their path. */
export interface DataRules {
  /** The option that names the data, for sentences. */
  readonly option: string
  /** Rows that count where the file has a column `split`; all of them where absent. */
  readonly part?: SplitPart | undefined
  /** The classes by name; labels are numbers, and names of annotations are sorted, where absent. */
  readonly classes?: ClassList | undefined
  /** The class of pixels in no polygon; they are ignored where absent. */
  readonly unannotated?: string | undefined
  /** The folder to which paths in the file are relative; the file's own where absent. */
  readonly root?: string | undefined
  /** The suffix that names of images lack, such as `.svs`. */
  readonly suffix?: string | undefined
  /** Whether a row is left out, and counted, where its image or mask cannot be read. */
  readonly skipBad?: boolean | undefined
}
