import * as t from 'io-ts'

const grid = t.readonly(t.type({ B: t.number, H: t.number, W: t.number }))

/**
 * Consecutive nodes [from, to) that run tile by tile; `recompute` false keeps what backward needs,
 * true computes it again. `reorder`: weights that are read in another layout than they are stored
 * in, or rounded, are copied once for all tiles, or by each tile for itself, which takes time and
 * leaves memory. `winograd`: positions of the convolutions that run by Winograd; the others run
 * directly. `workspace`: bytes of scratch that a convolution's algorithm may take, the fastest
 * within them is chosen; absent where all take the direct one. `prefetch`: what a tile brings, of
 * the images or in bands of rows, is loaded while the tile before it is computed, to a place of its
 * own; bands that it takes to the host go while the next one is. `hostTensors`: positions of layers
 * whose outputs leave the segment for the host, where they and their gradients stay: a tile takes
 * and brings bands of their rows. `rematerialize`: nothing that leaves the segment is kept for
 * backward; before the backward of the segment that follows such ones, they run forward once more.
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
    t.partial({
      winograd: t.readonlyArray(t.number),
      workspace: t.number,
      prefetch: t.literal(true),
      hostTensors: t.readonlyArray(t.number),
      rematerialize: t.literal(true)
    })
  ])
)

/**
 * A tensor that is kept from forward to backward waits on the host between. Moments count a step's
 * layers in the order in which they run: 0 .. n - 1 forward, n .. 2n - 1 backward, from the last
 * layer on. A transfer starts right before its moment. Where a tensor is listed again, it waits
 * once more between two uses in backward: the host still has it, and only the swap-in moves it.
 */
const swapIntervalCodec = t.readonly(
  t.type({
    /** 'output of LAYER', 'indices of LAYER' or 'input of LAYER'. */
    tensor: t.string,
    /** Where the tensor is listed again, the same as `freed`. */
    swapOut: t.number,
    /**
     * From this moment on its place on the device is another's: computing waits here for the end of
     * the swap-out.
     */
    freed: t.number,
    /** Computing waits for its end where backward first reads the tensor. */
    swapIn: t.number
  })
)

/**
 * How the step's buffers get their places. `static`: each has its offset in the arena. `virtual`:
 * each has addresses of its own, to which chunks of memory are mapped while it lives (Hayakawa
 * 2020, section 4).
 */
const placement = t.readonly(
  t.union([t.type({ allocator: t.literal('static') }), t.type({ allocator: t.literal('virtual'), pageBytes: t.number })])
)

const predicted = t.readonly(
  t.type({
    /** Highest byte that a step touches in the device arena, plus one. */
    peakDeviceBytes: t.number,
    peakHostBytes: t.number,
    /** The device peak of strategy plain: the yardstick for fractions of memory. */
    plainPeakBytes: t.number,
    /** Of one run of the section `step`: of one micro-batch, where gradients are accumulated. */
    stepMilliseconds: t.number,
    /**
     * The step's kernels run once each, whole, in the better order: no recomputation, copies or
     * halos.
     */
    lowerBoundMilliseconds: t.number,
    /** Tiled over untiled forward multiply-adds, minus one. */
    haloOverhead: t.number
  })
)

/** What a strategy decides: all that lowering needs beside a graph and a device. */
const plan = t.readonly(
  t.type({
    /**
     * Positions in the model's flattened list, in the order in which they run; segments are ranges
     * over it.
     */
    order: t.readonlyArray(t.number),
    segments: t.readonlyArray(segment),
    /** What stays on the host for a while; all else that is kept stays on the device. */
    swapSchedule: t.readonlyArray(swapIntervalCodec),
    placement
  })
)

/**
 * A plan with what it is for and what it is predicted to take: small, readable, of the same form
 * for every strategy.
 */
export const memoryPlan = t.intersection([
  t.readonly(
    t.type({
      model: t.string,
      graphHash: t.string,
      strategy: t.string,
      device: t.string,
      input: t.readonlyArray(t.number),
      /** Bytes; null when the plan was made without a limit. */
      budget: t.union([t.number, t.null])
    })
  ),
  plan,
  t.readonly(t.type({ predicted }))
])

export type Plan = t.TypeOf<typeof plan>
export type MemoryPlan = t.TypeOf<typeof memoryPlan>
export type Segment = t.TypeOf<typeof segment>
export type PlacementChoice = t.TypeOf<typeof placement>
export const staticPlacement: PlacementChoice = { allocator: 'static' }
export type SwapInterval = t.TypeOf<typeof swapIntervalCodec>
export type SwapSchedule = readonly SwapInterval[]

/** A plan in which nothing waits on the host and buffers are placed statically. */
export const createPlan = (
  order: Plan['order'],
  segments: Plan['segments'],
  other: Partial<Pick<Plan, 'swapSchedule' | 'placement'>> = {}
): Plan => ({
  order,
  segments,
  swapSchedule: [],
  placement: staticPlacement,
  ...other
})
