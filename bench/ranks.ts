/**
 * What ranks that share micro-batches, and images or rows of each, gain, predicted; nothing runs:
 *
 *     npx ts-node bench/ranks.ts [--models vgg16,resnet50] [--size 8192] [--ranks 1,2,4,8] [--networks 10Gb/s,20us;100Gb/s,2us] [--device devices/v100-16gb.json] [--json]
 *
 * Of each network's time of a step its speed-up over one process with all the memory it wants, and
 * what most of the time goes to.
 */
import * as E from 'fp-ts/Either'
import { plan } from '../src'
import { loadDevice } from '../src/plans/device-file'
import { formatBytes, formatMilliseconds } from '../src/text/format'
import { table } from '../src/text/table'
import { must } from './must'
import { readCount, readCounts, readModels, readOptions } from './options'

interface Cell {
  readonly network: string
  /** Null where nothing fits. */
  readonly predictedStepMs: number | null
  readonly speedUp: number | null
  readonly boundBy: string | null
  readonly peakDeviceBytes: number | null
}

interface Row {
  readonly model: string
  readonly ranks: number
  readonly cells: readonly Cell[]
}

/** torchvision's pooling branch of DeepLab normalises one value a channel: it needs two images. */
const batchOf = (model: string): number => (model.startsWith('deeplab') ? 2 : 1)

const cellOf = async (model: string, size: number, ranks: number, network: string, path: string): Promise<Cell> => {
  const options = { model, classes: 2, input: [batchOf(model), 3, size, size], device: must(loadDevice(path)), ranks, network } as const
  const planned = await plan(options)()
  if (E.isLeft(planned) && planned.left.code === 'budget')
    return { network, predictedStepMs: null, speedUp: null, boundBy: planned.left.message, peakDeviceBytes: null }
  const { predictedStepMs, peakDeviceBytes, ranks: report } = must(planned)
  return { network, predictedStepMs, speedUp: report!.speedUp, boundBy: report!.boundBy, peakDeviceBytes }
}

const cellText = ({ predictedStepMs, speedUp, boundBy }: Cell): readonly string[] =>
  predictedStepMs === null ? ['does not fit', '', ''] : [formatMilliseconds(predictedStepMs), speedUp!.toFixed(2), boundBy!]

const { values } = readOptions({
  options: {
    models: { type: 'string', default: 'vgg16,resnet50,deeplabv3_resnet50' },
    size: { type: 'string', default: '8192' },
    ranks: { type: 'string', default: '1,2,4,8,16,32,64,128,256' },
    networks: { type: 'string', default: '10Gb/s,20us;100Gb/s,2us' },
    device: { type: 'string', default: 'devices/v100-16gb.json' },
    json: { type: 'boolean', default: false }
  }
})

const run = async (): Promise<void> => {
  const [networks, size] = [values.networks.split(';'), readCount('--size', values.size)]
  const rows: Row[] = []
  for (const model of readModels('--models', values.models))
    for (const ranks of readCounts('--ranks', values.ranks)) {
      const cells: Cell[] = []
      for (const network of networks) cells.push(await cellOf(model, size, ranks, network, values.device))
      rows.push({ model, ranks, cells })
      if (!values.json) process.stderr.write(`${model} on ${ranks}: ${cells.flatMap(cellText).join(', ')}\n`)
    }
  if (values.json) console.log(JSON.stringify(rows))
  else {
    const head = ['model', 'ranks', 'memory of a rank', ...networks.flatMap((network) => [network, 'speed-up', 'most time goes to'])]
    const memory = ({ cells: [first] }: Row): string => (first!.peakDeviceBytes === null ? '' : formatBytes(first!.peakDeviceBytes))
    console.log(
      table(
        head,
        rows.map((row) => [row.model, `${row.ranks}`, memory(row), ...row.cells.flatMap(cellText)])
      )
    )
  }
}

void run()
