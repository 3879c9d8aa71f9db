import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import type { Outcome } from '../failure'
import { imageNetSource } from '../plans/plan-network'
import { pickWatching } from '../plans/watching'
import { drawHeatMaps } from '../predicting/crop-heat-maps'
import type { Report } from '../reports/report'
import { type LivePage, serveReport } from '../reports/live'
import { planPage } from '../reports/plan-page'
import { runPage } from '../reports/run-page'
import { writeReport, writeRunTrace } from '../reports/write-report'
import { createRunRecorder } from '../running/run-recorder'
import { tap } from '../tasks/tap'
import { withResource } from '../tasks/with-resource'
import { withTrackers } from '../tracking/with-trackers'
import type { TrainedRecord } from '../training/loop'
import { type PreparedTraining, cropExtent, rowsOfUpdate } from '../training/prepare'
import { type GrowingRecord, emptyRecord, continueRecord } from '../training/state/record'
import { runPrepared } from '../training/run'

/** Makes the page of a training as far as it is; its plan is drawn once. */
const createTrainingPage = (
  { request, planned, training, validation }: PreparedTraining,
  record: GrowingRecord
): ((ended?: string) => Report) => {
  let page: Report | undefined
  return (ended) => {
    const { loss, stepMs, learningRate, validations, peakDeviceBytes = 0, crops = [] } = record
    const ran = {
      stepMs,
      peakDeviceBytes,
      images: rowsOfUpdate(planned, request),
      crops,
      classNames: validation?.names ?? training.names,
      ended,
      learned: { loss, learningRate, validations }
    }
    return runPage(planned, `${loss.length} ${loss.length === 1 ? 'step' : 'steps'} of training`, ran, (page ??= planPage(planned)))
  }
}

/** Draws heat maps over the crops that are shown, by the weights that were written. */
const addHeatMaps = async ({ request, planned, channels }: PreparedTraining, record: GrowingRecord): Promise<void> => {
  const { options, setup, resolution, notify } = request
  const { heatmap: kind, save: weights } = options
  if (kind === undefined || weights === undefined || record.crops === undefined) return
  const normalisation = channels.normalisation === undefined ? imageNetSource : { kind: 'image' as const, ...channels.normalisation }
  const asked = {
    kind,
    setup,
    weights: { path: weights },
    normalisation,
    crop: cropExtent(planned.staged.program),
    reading: resolution,
    watching: pickWatching(options)
  }
  const drawn = await drawHeatMaps(record.crops, asked)()
  if (E.isRight(drawn)) record.crops = drawn.right
  else notify(`the page has no heat maps: ${drawn.left.message}`)
}

/** Trains, and writes what shows it: of a training that fails or is interrupted, what there is. */
export const runAndShow = (prepared: PreparedTraining): Outcome<TrainedRecord> => {
  const { request, planned, state } = prepared
  const { report, trace, live } = request.options
  const record = continueRecord(state?.record ?? emptyRecord)
  const recorder = trace === undefined ? undefined : createRunRecorder()
  const page = createTrainingPage(prepared, record)
  const show = (ended: string): Outcome<void> =>
    pipe(
      TE.Do,
      TE.chain(() => (record.loss.length === 0 ? TE.right(undefined) : writeReport(report, () => page(ended)))),
      TE.chain(() => writeRunTrace(trace, planned, recorder?.runs() ?? []))
    )
  const trained: Outcome<TrainedRecord> = async () => {
    const trained = await withTrackers(prepared, (tracker) => runPrepared(prepared, { record, recorder, tracker }))()
    if (E.isRight(trained)) await addHeatMaps(prepared, record)
    const written = await show(E.isRight(trained) ? 'finished' : trained.left.message)()
    if (E.isRight(trained)) return E.isLeft(written) ? written : trained
    if (E.isLeft(written)) request.notify(written.left.message)
    return trained
  }
  if (live === undefined) return trained
  const serving = tap(({ url }: LivePage) => request.notify(`the training is shown at ${url}`))(serveReport(live, page))
  return withResource(
    serving,
    () => trained,
    ({ close }) => close()
  )
}
