import type { Interval } from './region'
export interface Resampling { readonly inExtent: number; readonly outExtent: number }
export interface Resizing extends Resampling { readonly bilinear: boolean; readonly alignCorners: boolean }
export const resizeInterval = (_: Resizing, output: Interval): Interval => output
export const adaptiveInterval = (_: Resampling, output: Interval): Interval => output
