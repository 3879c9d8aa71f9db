import { builtIn } from '../../models'
import { type NamedPath, namedPaths } from '../files/paths'
import type { SetupChoices } from './resolve-setup'

/** Files that a setup is read from: over none of them may be written. */
export const setupReads = ({ model, plan, device }: Pick<SetupChoices, 'model' | 'plan' | 'device'>): readonly NamedPath[] => [
  ...(typeof model === 'string' && Object.hasOwn(builtIn, model) ? [] : namedPaths('the model', model)),
  ...namedPaths('--plan', plan),
  ...(typeof device === 'string' && device.endsWith('.json') ? namedPaths('--device', device) : [])
]
