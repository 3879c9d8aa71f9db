const gibibyte = 2 ** 30
const mebibyte = 2 ** 20

export type Mode = 'quick' | 'full'

/** One square image in one arena. */
export interface Cell {
  /** Height and width in pixels. */
  readonly size: number
  readonly arenaBytes: number
  /** In the last precision alone, which is the fastest, with fewer steps. */
  readonly isLarge?: true
}

/** How much of each part is done. */
export interface Scale {
  /** Of everything, unless --minutes says otherwise. */
  readonly minutes: number
  /** Of one measurement: a program or a request that takes longer is ended. */
  readonly mostSeconds: number
  /** Files of the device suite, below test/. */
  readonly testFiles: readonly string[]
  readonly propertyRuns: number
  /** Gradients against float64: seeds at the small size, which the reference device computes, and one at the large one, by PyTorch. */
  readonly parity: { readonly seeds: number; readonly size: number; readonly largeSize: number }
  readonly cells: readonly Cell[]
  /** How often every contender has its turn, and steps in each turn; the first step warms up. */
  readonly rounds: number
  readonly steps: number
  /** Height and width of the image that is cut into 16 x 16 tiles. */
  readonly tiledSize: number
  /** Of the image whose step is predicted from a profile, and swapped; and the shares of plain's memory, in per cent, for either. */
  readonly predictedSize: number
  readonly predictedPercent: number
  readonly swappedPercent: number
  /** How many images of which height and width, in one arena. */
  readonly batches: {
    readonly model: 'resnet50' | 'resnet18'
    readonly sizes: readonly number[]
    readonly size: number
    readonly arenaBytes: number
  }
}

const quickFiles = [
  'training/devices',
  'golden/operations',
  'properties/tiled-equals-untiled',
  'properties/fused-rectifier',
  'properties/not-a-number'
]

/** Small arenas first, so that a card with little memory shows what it can. */
const cellsOf = (sizes: readonly number[], arenas: readonly number[]): readonly Cell[] =>
  arenas.flatMap((arenaBytes) => sizes.map((size) => ({ size, arenaBytes })))

const onGpu: Readonly<Record<Mode, Scale>> = {
  quick: {
    minutes: 8,
    mostSeconds: 60,
    testFiles: quickFiles,
    propertyRuns: 30,
    parity: { seeds: 5, size: 64, largeSize: 512 },
    cells: [
      ...cellsOf([1024, 4096], [11 * gibibyte]),
      { size: 4096, arenaBytes: 40 * gibibyte },
      { size: 20_480, arenaBytes: 40 * gibibyte, isLarge: true }
    ],
    rounds: 1,
    steps: 4,
    tiledSize: 4096,
    predictedSize: 1024,
    predictedPercent: 33,
    swappedPercent: 70,
    batches: { model: 'resnet50', sizes: [64, 256, 928, 1440], size: 224, arenaBytes: 16 * gibibyte }
  },
  full: {
    minutes: 120,
    mostSeconds: 600,
    testFiles: [...quickFiles, 'golden/networks'],
    propertyRuns: 300,
    parity: { seeds: 5, size: 64, largeSize: 1024 },
    cells: cellsOf([1024, 2048, 4096, 8192, 12_288, 16_384, 20_480], [11 * gibibyte, 40 * gibibyte]),
    rounds: 3,
    steps: 4,
    tiledSize: 4096,
    predictedSize: 1024,
    predictedPercent: 33,
    swappedPercent: 70,
    batches: { model: 'resnet50', sizes: [64, 128, 256, 512, 640, 928, 1440], size: 224, arenaBytes: 16 * gibibyte }
  }
}

/** On the cpu, where only the check itself is checked. */
const onCpu: Scale = {
  minutes: 30,
  mostSeconds: 120,
  testFiles: ['training/devices', 'properties/not-a-number'],
  propertyRuns: 3,
  parity: { seeds: 1, size: 32, largeSize: 48 },
  cells: cellsOf([32, 64], [256 * mebibyte]),
  rounds: 1,
  steps: 2,
  tiledSize: 32,
  predictedSize: 32,
  predictedPercent: 100,
  swappedPercent: 100,
  batches: { model: 'resnet18', sizes: [2], size: 64, arenaBytes: 512 * mebibyte }
}

export const scaleOf = (device: string, mode: Mode): Scale =>
  device === 'cuda' ? onGpu[mode] : mode === 'quick' ? onCpu : { ...onCpu, testFiles: onGpu.full.testFiles }
