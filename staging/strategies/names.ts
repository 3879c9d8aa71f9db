/** As on the command line; `auto` is the fastest plan of all of them. Apart from what they do, so that naming them loads nothing. */
export const strategyNames = [
  'auto',
  'plain',
  'chen',
  'chen-sqrt',
  'sft',
  'sft-offload',
  'vdnn',
  'lms',
  'lms-hybrid',
  'dymem',
  'window',
  'greedy',
  'dynprog'
] as const
export type StrategyName = (typeof strategyNames)[number]
