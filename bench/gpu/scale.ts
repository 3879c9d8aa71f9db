import type { Workload } from './workload'

const gibibyte = 2 ** 30
const mebibyte = 2 ** 20

/** How much is checked: as much as 8 minutes hold, all, or all at tiny sizes. */
export const modes = ['quick', 'full', 'tiny'] as const
/** How much is checked. */
export type Mode = (typeof modes)[number]

/** One square image in one arena. */
export interface Cell {
  /** Height and width in pixels. */
  readonly size: number
  /** null: the whole card, which plain PyTorch alone has, for its best time per pixel. */
  readonly arenaBytes: number | null
  /**
   * Takes so long that ours is planned by `auto` alone, in two steps of one round; PyTorch, which
   * such an image does not fit, is asked too.
   */
  readonly isLarge?: true
  /** Not in float32, whose steps take too long for what time there is. */
  readonly isFast?: true
}

/** How much of each part is done. */
export interface Scale {
  /** Minutes that the whole check may take, unless --minutes says otherwise. */
  readonly minutes: number
  /** Seconds that one measurement may take: a program or a request that takes longer is ended. */
  readonly mostSeconds: number
  /** Files of the device suite, below test/. */
  readonly testFiles: readonly string[]
  readonly propertyRuns: number
  /**
   * Gradients against float64: seeds at the small size, which the reference device computes, and
   * one at the large one, by PyTorch.
   */
  readonly parity: { readonly seeds: number; readonly size: number; readonly largeSize: number }
  /** The most telling first: time may not do for all. */
  readonly cells: readonly Cell[]
  /** How often every contender has its turn, and steps in each turn; the first step warms up. */
  readonly rounds: number
  readonly steps: number
  /** Height and width of the image that is cut into 16 x 16 tiles. */
  readonly tiledSize: number
  /**
   * Height and width of the image whose step is predicted from a profile, and swapped; below, the
   * share of plain's memory for either, in per cent.
   */
  readonly predictedSize: number
  readonly predictedPercent: number
  readonly swappedPercent: number
  /** Networks whose steps are timed beside PyTorch's. */
  readonly workloads: readonly Workload[]
  /** How many images of which height and width a network takes, in one arena. */
  readonly batches: {
    readonly network: BatchedNetwork
    readonly sizes: readonly number[]
    readonly size: number
    readonly arenaBytes: number
  }
}

/** What learns from growing batches, by the name of its model and as people write it. */
interface BatchedNetwork {
  readonly model: 'resnet50' | 'vgg16'
  readonly name: string
}
const resnet50: BatchedNetwork = { model: 'resnet50', name: 'ResNet-50' }

const quickFiles = [
  'training/devices',
  'training/offloading',
  'training/timed-launches',
  'golden/operations',
  'golden/branching',
  'native/cudnn-engines',
  'native/few-channels',
  'native/prepared-images',
  'properties/tiled-equals-untiled',
  'properties/fused-rectifier',
  'properties/not-a-number',
  'properties/bf16',
  'properties/virtual',
  'properties/awkward-graphs'
]

/** Test files of the full check: those of the quick one, and two that take longer. */
const fullFiles = [...quickFiles, 'golden/networks', 'golden/torchvision']

const cellsOf = (sizes: readonly number[], arenas: readonly (number | null)[]): readonly Cell[] =>
  arenas.flatMap((arenaBytes) => sizes.map((size): Cell => ({ size, arenaBytes, ...(size > 12_288 && { isLarge: true }) })))

/**
 * Bytes of the two cards of Xu 2022 (RTX 2080 Ti and A100), in which it trains images of up to
 * 20480 x 20480.
 */
const paperArenas = [11 * gibibyte, 40 * gibibyte]
const largest = 20_480

const workloads: readonly Workload[] = [
  { model: 'resnet50', batch: 64, size: 224 },
  { model: 'vgg16', batch: 1, size: 1024 },
  { model: 'resnet50', batch: 1, size: 2048 },
  { model: 'deeplabv3_resnet50', batch: 2, size: 1024 },
  { model: 'vgg16', batch: 1, size: 4096 }
]

const onGpu: Readonly<Record<'quick' | 'full', Scale>> = {
  quick: {
    minutes: 8,
    mostSeconds: 60,
    testFiles: quickFiles,
    propertyRuns: 30,
    parity: { seeds: 5, size: 64, largeSize: 512 },
    cells: [
      ...[2048, 4096].map((size) => ({ size, arenaBytes: null, isFast: true }) as const),
      { size: largest, arenaBytes: 40 * gibibyte, isLarge: true, isFast: true },
      { size: 4096, arenaBytes: 11 * gibibyte, isFast: true },
      { size: 1024, arenaBytes: 11 * gibibyte },
      { size: 4096, arenaBytes: 40 * gibibyte, isFast: true },
      { size: largest, arenaBytes: 11 * gibibyte, isLarge: true, isFast: true }
    ],
    rounds: 1,
    steps: 4,
    tiledSize: 4096,
    predictedSize: 1024,
    predictedPercent: 33,
    swappedPercent: 70,
    workloads,
    batches: { network: resnet50, sizes: [128, 256, 1440], size: 224, arenaBytes: 16 * gibibyte }
  },
  full: {
    minutes: 120,
    mostSeconds: 600,
    testFiles: fullFiles,
    propertyRuns: 300,
    parity: { seeds: 5, size: 64, largeSize: 1024 },
    cells: [...cellsOf([1024, 2048, 4096, 8192], [null]), ...cellsOf([1024, 2048, 4096, 8192, 12_288, 16_384, largest], paperArenas)],
    rounds: 3,
    steps: 4,
    tiledSize: 4096,
    predictedSize: 1024,
    predictedPercent: 33,
    swappedPercent: 70,
    workloads,
    batches: { network: resnet50, sizes: [64, 128, 190, 256, 512, 928, 1120, 1248, 1440], size: 224, arenaBytes: 16 * gibibyte }
  }
}

/** Where only the check itself is checked. */
const tiny: Scale = {
  minutes: 30,
  mostSeconds: 120,
  testFiles: ['training/devices', 'properties/not-a-number'],
  propertyRuns: 3,
  parity: { seeds: 1, size: 32, largeSize: 48 },
  cells: cellsOf([32, 64], [null, 256 * mebibyte]),
  rounds: 1,
  steps: 2,
  tiledSize: 32,
  predictedSize: 32,
  predictedPercent: 100,
  swappedPercent: 100,
  workloads: [{ model: 'vgg16', batch: 1, size: 32 }],
  batches: { network: { model: 'vgg16', name: 'VGG-16' }, sizes: [2, 3], size: 32, arenaBytes: 256 * mebibyte }
}

/** The sizes at which a device is checked in a mode. */
export const chooseScale = (device: string, mode: Mode): Scale =>
  device === 'cuda' && mode !== 'tiny' ? onGpu[mode] : mode === 'full' ? { ...tiny, testFiles: fullFiles } : tiny
