import { open, readdir } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import type { Graph } from '../../staging'
import type { Outcome } from '../failure'
import { writeFailure } from '../files/atomic-write'
import { makeFolder } from '../files/make-folder'
import type { SeenCrop } from '../images/seen-crop'
import { cropPictures, cropTag } from './crop-pictures'
import { encodeMessage } from './event-messages'
import { tfRecord } from './records'
import type { Ending, Tracker } from '../training/tracker'
import { type Scalar, type TrackedRun, scalarsOfStep, scalarsOfValidation } from './tracked-run'

/** Parts of a name by which TensorBoard nests nodes are joined by slashes. */
const nodeName = (name: string): string => name.replaceAll('.', '/')

const graphDef = ({ input, nodes }: Graph): Uint8Array => {
  const shape = (extents: readonly number[]) => ({ _output_shapes: { list: { shape: [{ dim: extents.map((size) => ({ size })) }] } } })
  // Tensor 0 is the input, and tensor n the output of node n - 1.
  const names = ['input', ...nodes.map(({ name }) => nodeName(name))]
  return encodeMessage('GraphDef', {
    node: [
      { name: 'input', op: 'Placeholder', attr: shape(input) },
      ...nodes.map(({ op, inputs, output }, index) => ({
        name: names[index + 1]!,
        op,
        input: inputs.map((tensor) => names[tensor]!),
        attr: shape(output)
      }))
    ],
    versions: { producer: 22 }
  })
}

/** Numbers as numbers, so that TensorBoard can put them on an axis. */
const hparam = (text: string): object =>
  text.trim() !== '' && Number.isFinite(Number(text)) ? { numberValue: Number(text) } : { stringValue: text }

const hparams = (tag: string, data: object): object => ({
  value: [{ tag, metadata: { pluginData: { pluginName: 'hparams', content: encodeMessage('HparamsPluginData', data) } } }]
})

const scalarValues = (values: readonly Scalar[]): readonly object[] => values.map(({ tag, value }) => ({ tag, simpleValue: value }))

/** DT_STRING of TensorFlow's types. */
const stringType = 7

/** Pictures of crops, and of labelled ones the classes in words. */
const cropValues = (crops: readonly SeenCrop[]): Outcome<readonly object[]> =>
  pipe(
    cropPictures(crops),
    TE.map((pictures) => [
      ...pictures.map(({ tag, height, width, png }) => ({ tag, image: { height, width, colorspace: 3, encodedImageString: png } })),
      ...crops.flatMap((crop, index) => {
        if (crop.text === undefined) return []
        const tensor = { dtype: stringType, stringVal: [Buffer.from(crop.text)] }
        return [{ tag: `${cropTag(crop, index)}/class`, metadata: { pluginData: { pluginName: 'text' } }, tensor }]
      })
    ])
  )

/** SessionLog's START: what an earlier file of the folder has from this step on does not count. */
const sessionStart = 1
/** The hyper-parameter plugin's success, and failure. */
const statuses: Readonly<Record<Ending, number>> = { finished: 1, failed: 2, interrupted: 2 }

/** Event files that this process has opened: a name of its own to each of one second. */
let opened = 0

/**
 * The second of a new event file. TensorBoard reads a folder's files by their names, so that it is
 * after all others', wherever the clock was set.
 */
const nextSecond = async (folder: string): Promise<number> => {
  const seconds = (await readdir(folder)).flatMap((name) => Number(/^events\.out\.tfevents\.(\d{10})\./.exec(name)?.[1] ?? []))
  return Math.max(Math.floor(Date.now() / 1000), ...seconds.map((second) => second + 1))
}

/**
 * Opens a new event file of TensorBoard's in a folder, which is made where it is missing, with the
 * graph and the hyper-parameters. Each event is handed to the system at once, so that it outlives
 * the process. Fails where the folder cannot be written.
 */
export const openTensorBoard = (folder: string, { graph, hyperParameters, stepsBefore }: TrackedRun): Outcome<Tracker> => {
  const now = (): number => Date.now() / 1e3
  return pipe(
    TE.tryCatch(async () => {
      await makeFolder(folder)
      return join(folder, `events.out.tfevents.${await nextSecond(folder)}.${hostname()}.${process.pid}.${opened++}.tilefold`)
    }, writeFailure(folder)),
    TE.bindTo('path'),
    TE.bind('file', ({ path }) => TE.tryCatch(() => open(path, 'a'), writeFailure(path))),
    TE.chain(({ path, file }) => {
      const write = (step: number, what: object): Outcome<void> =>
        TE.tryCatch(() => file.writeFile(tfRecord(encodeMessage('Event', { wallTime: now(), step, ...what }))), writeFailure(path))
      const tracker: Tracker = {
        step: (report) => write(report.step + 1, { summary: { value: scalarValues(scalarsOfStep(report)) } }),
        validation: (validation, crops) =>
          pipe(
            cropValues(crops),
            TE.chain((values) =>
              write(validation.step, { summary: { value: [...scalarValues(scalarsOfValidation(validation)), ...values] } })
            )
          ),
        close: async (ending) => {
          const sessionEndInfo = { status: statuses[ending], endTimeSecs: now() }
          await write(0, { summary: hparams('_hparams_/session_end_info', { sessionEndInfo }) })()
          await file.close()
        }
      }
      const named = Object.fromEntries(Object.entries(hyperParameters).map(([name, text]) => [name, hparam(text)]))
      return pipe(
        TE.traverseSeqArray(([step, what]: readonly [number, object]) => write(step, what))([
          [0, { fileVersion: 'brain.Event:2' }],
          [stepsBefore + 1, { sessionLog: { status: sessionStart } }],
          [0, { graphDef: graphDef(graph) }],
          [0, { summary: hparams('_hparams_/session_start_info', { sessionStartInfo: { hparams: named, startTimeSecs: now() } }) }]
        ]),
        TE.map(() => tracker),
        TE.orElseFirstTaskK(() => () => file.close())
      )
    })
  )
}
