import * as t from 'io-ts'

const grid = t.readonly(t.type({ B: t.number, H: t.number, W: t.number }))

/**
 * Consecutive nodes [from, to) that run tile by tile; `recompute` false keeps what backward needs, true computes it again.
 * `reorder`: weights that backward wants in another layout are copied once for all tiles, or by each tile for itself,
 * which takes time and leaves memory. `winograd`: positions of the convolutions that run by Winograd; the others run directly.
 * `workspace`: bytes of scratch that a convolution's algorithm may take, the fastest within them is chosen; absent where all take the
 * direct one. `loadsAhead`: of a first segment in tiles, each tile of the images is loaded while the one before it is computed, to a place
 * of its own.
 */
const segment = t.readonly(
  t.intersection([
    t.type({
      from: t.number,
      to: t.number,
      grid,
      recompute: t.boolean,
      reorder: t.union([t.literal('once'), t.literal('each-tile')])
    }),
    t.partial({ winograd: t.readonlyArray(t.number), workspace: t.number, loadsAhead: t.literal(true) })
  ])
)

const predicted = t.readonly(
  t.type({
    /** Highest byte that a step touches in the device arena, plus one. */
    peakDeviceBytes: t.number,
    peakHostBytes: t.number,
    /** The same of strategy plain: the yardstick for fractions of memory (DESIGN §6). */
    plainPeakBytes: t.number,
    /** Of one run of the section `step`: of one micro-batch, where gradients are accumulated. */
    stepMilliseconds: t.number,
    /** The step's kernels run once each, whole, in the better order: no recomputation, copies or halos. */
    lowerBoundMilliseconds: t.number,
    /** Tiled over untiled forward multiply-adds, minus one. */
    haloOverhead: t.number
  })
)

/** The decisions of staging: small, readable, the same form for every strategy (DESIGN §4). */
export const memoryPlan = t.readonly(
  t.type({
    model: t.string,
    graphHash: t.string,
    strategy: t.string,
    device: t.string,
    input: t.readonlyArray(t.number),
    /** Bytes; null when the plan was made without a limit. */
    budget: t.union([t.number, t.null]),
    /** Positions in the model's flattened list, in the order in which they run; segments are ranges over it. */
    order: t.readonlyArray(t.number),
    segments: t.readonlyArray(segment),
    placement: t.readonly(t.type({ allocator: t.literal('first-fit') })),
    predicted
  })
)

export type MemoryPlan = t.TypeOf<typeof memoryPlan>
export type Segment = t.TypeOf<typeof segment>
