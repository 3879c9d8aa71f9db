import { realpathSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, dirname, join, relative, resolve, sep } from 'node:path'
import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { flow, pipe } from 'fp-ts/function'
import type { Model, PlanFile } from '../../dsl'
import { builtIn, type HeadOptions } from '../../models'
import { type PlanFileForm, type Staged, decodePlanFile, toPlanFile, planFileText } from '../../staging'
import { type Failure, type Outcome, inputFailure, errorReason } from '../failure'
import { loadDefault } from '../modules/load-module'
import { isModule } from '../modules/module-kind'
import { readJson, readText } from '../files/read-file'
import { decoderCodec } from '../options/codecs'
import { writeFileAtomic } from '../files/atomic-write'

/** A plan that JavaScript gives, or one that casts may have got past the compiler. */
export const planCodec = decoderCodec(
  'a plan',
  flow(
    decodePlanFile,
    E.map(({ plan }) => plan)
  )
)

const nameFailure = (path: string): Failure => inputFailure(`${path}: a plan file is named *.plan.ts or *.json`)

/** A plan, and what people should know of its file. */
export interface LoadedPlan {
  readonly plan: PlanFile
  /** A sentence on the earlier names of fields that the file has, where it has any. */
  readonly notice?: string
}

/** Why a value is no plan, where the compiler's words for a field too many would not say it. */
const planFault = (value: unknown): string | undefined =>
  typeof value === 'object' && value !== null && 'feasible' in value
    ? 'it is what plan --json answers; plan --out writes a plan'
    : undefined

/** A plan from a JSON file, or from a TypeScript module, which the compiler checks first. */
export const loadPlan = (path: string): Outcome<LoadedPlan> =>
  pipe(
    /\.(ts|json)$/.test(path) ? readText('plan', path) : E.left(nameFailure(path)),
    TE.fromEither,
    TE.chain(() => (path.endsWith('.json') ? TE.fromEither(readJson('plan', path)) : loadDefault(path))),
    TE.chainEitherK((value) =>
      E.mapLeft((fault: string) => inputFailure(`the plan ${path}: ${planFault(value) ?? fault}`))(decodePlanFile(value))
    ),
    TE.map(({ plan, renamed }) => ({
      plan,
      ...(renamed.length > 0 && {
        notice: `the plan ${path} has earlier names of fields: ${renamed.join(', ')}; tilefold plan with --plan and --out writes it anew`
      })
    }))
  )

/**
 * Smallest share of what its decisions need that a plan may say: below, it is wrong. Other
 * processors need a little more or less.
 */
const minShare = 0.5

/**
 * Returns why a plan's peaks cannot be true of its decisions; `needed` is the same plan as it comes
 * out here; `planPath` is its file's path, where it has one.
 */
const findPeakError = (plan: PlanFile, needed: PlanFile, planPath: string | undefined): string | undefined => {
  const whose = planPath === undefined ? "the plan's" : `the plan ${planPath}: its`
  const [claimed, host] = [plan.predicted.peakHostBytes ?? Infinity, needed.predicted.peakHostBytes ?? 0]
  if (plan.peak < minShare * needed.peak)
    return `${whose} peak is ${plan.peak} bytes, but its decisions need ${needed.peak}; write that, or give --budget`
  return claimed < minShare * host
    ? `${whose} predicted.peakHostBytes are ${claimed}, but its decisions need ${host}; write that, or give --budget`
    : undefined
}

/**
 * Describes what a plan was made for, where that differs from what it is used for now: the same
 * decisions are then staged anew. Fails where its peaks cannot be true, and `budgeted` does not put
 * a limit in their place.
 */
export const describePlanChange = (
  plan: PlanFile,
  staged: Staged,
  { budgeted, planPath }: { readonly budgeted: boolean; readonly planPath: string | undefined }
): E.Either<Failure, string | undefined> => {
  const needed = toPlanFile(staged)
  const { peak } = needed
  const purpose = (made: Pick<PlanFile, 'device' | 'objective'>): string =>
    `${made.device.name} in ${made.device.precision} on ${made.device.threads} threads (${made.objective})`
  const [then, now] = [purpose(plan), purpose(needed)]
  if (then !== now)
    return E.right(
      `the plan was made for ${then}; its decisions are staged anew for ${now}, and peak at ` +
        (peak === plan.peak ? `the same ${peak} bytes` : `${peak} bytes instead of ${plan.peak}`)
    )
  const mistake = budgeted ? undefined : findPeakError(plan, needed, planPath)
  if (mistake !== undefined) return E.left(inputFailure(mistake))
  return E.right(peak === plan.peak ? undefined : `the plan's decisions peak at ${peak} bytes, not at the ${plan.peak} that it says`)
}

const root = realpathSync(join(__dirname, '..', '..'))

const pathFrom = (folder: string, to: string): string => {
  const path = relative(folder, to).split(sep).join('/')
  return /^\.\.?(\/|$)/.test(path) ? path : `./${path}`
}

/** `tilefold/dsl` where the package can be found from the folder, else the way to this clone. */
const importPath = (part: 'dsl' | 'models', folder: string): string =>
  pipe(
    E.tryCatch(() => createRequire(join(folder, 'plan.js')).resolve(`tilefold/${part}`), String),
    E.match(
      () => pathFrom(folder, join(root, part)),
      () => `tilefold/${part}`
    )
  )

/** A path as a string of TypeScript's. */
const quoted = (path: string): string => `'${path.replace(/['\\]/g, '\\$&')}'`

/** The model that a plan is for, as the command line names it. */
interface PlannedModel {
  /** A built-in name, or a path. */
  readonly name: string
  readonly options: HeadOptions
  readonly model: Model
}

/** The module's imports and its name for the model; `path` is the plan file's. */
const moduleForm = (path: string, { name, options, model }: PlannedModel, { graph }: Staged): E.Either<Failure, PlanFileForm> =>
  pipe(
    E.tryCatch(
      () => realpathSync(dirname(resolve(path))),
      (thrown) => inputFailure(`${path}: cannot be written (${errorReason(thrown)})`)
    ),
    E.chain((folder) => {
      const form = (from: string, imported: string, expression: string): E.Either<Failure, PlanFileForm> =>
        E.right({
          kind: 'typescript',
          imports: [`import { planFor } from ${quoted(importPath('dsl', folder))}`, `import ${imported} from ${quoted(from)}`],
          model: expression,
          names: graph.nodes.map((node) => node.name)
        })
      if (Object.hasOwn(builtIn, name))
        return form(
          importPath('models', folder),
          `{ ${name} }`,
          `${name}({ classes: ${options.classes}, head: '${options.head ?? 'gap'}' })`
        )
      if (!/\.[cm]?ts$/.test(name))
        return E.left(inputFailure(`${path}: the compiler knows no types of ${basename(name)}; name a *.json file`))
      const isOwnInput = model.input === undefined || model.input.join() === graph.input.join()
      const file = realpathSync(resolve(name)).replace(/ts$/, 'js')
      // ts-node finds a .ts file of CommonJS without an ending alone.
      const imported = isModule(join(folder, basename(path))) ? file : file.replace(/\.js$/, '')
      return form(pathFrom(folder, imported), 'model', isOwnInput ? 'model' : `{ ...model, input: [${graph.input.join(', ')}] }`)
    })
  )

/**
 * Returns the form in which a plan would be written to a file of this name: asked before planning,
 * which may take long.
 */
export const checkPlanName = (path: string): E.Either<Failure, void> =>
  /\.(json|plan\.ts)$/.test(path) ? E.right(undefined) : E.left(nameFailure(path))

/** Writes a plan to *.plan.ts or *.json, whole or not at all. */
export const writePlan = (path: string, made: PlannedModel, staged: Staged): Outcome<void> =>
  pipe(
    checkPlanName(path),
    E.chain(() => (path.endsWith('.json') ? E.right<Failure, PlanFileForm>({ kind: 'json' }) : moduleForm(path, made, staged))),
    TE.fromEither,
    TE.chain((form) => writeFileAtomic(path, () => [Buffer.from(planFileText(toPlanFile(staged), form))]))
  )
