import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import { elementCount } from '../../staging/graph/extents'
import { type ElementType, elementBytes } from './element-types'
import { PickleGlobal, PickleObject, type PickleValue, readPickle } from './pickle'

/** Elements of one type, one after the other in a part of a file. */
class Storage {
  constructor(
    readonly type: ElementType,
    readonly key: string,
    readonly elements: number
  ) {}
}

/** A view of a storage: element (i, j, …) stands at offset + i x stride[0] + j x stride[1] + … */
export class TorchTensor {
  constructor(
    readonly storage: Storage,
    readonly offset: number,
    readonly shape: readonly number[],
    readonly strides: readonly number[]
  ) {}
}

const storageTypes: ReadonlyMap<string, ElementType> = new Map([
  ['torch.FloatStorage', 'F32'],
  ['torch.DoubleStorage', 'F64'],
  ['torch.HalfStorage', 'F16'],
  ['torch.BFloat16Storage', 'BF16'],
  ['torch.LongStorage', 'I64'],
  ['torch.IntStorage', 'I32'],
  ['torch.ShortStorage', 'I16'],
  ['torch.CharStorage', 'I8'],
  ['torch.ByteStorage', 'U8'],
  ['torch.BoolStorage', 'BOOL']
])

const isExtent = (value: PickleValue): value is number => typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
const areExtents = (value: PickleValue): value is readonly number[] => Array.isArray(value) && value.every(isExtent)

const notAStorage = 'its pickle refers to what is no storage of a tensor'

/** A storage; one of a type that is not read is an object, which may stand beside the weights. */
const decodeStorage = (id: PickleValue): E.Either<string, Storage | PickleObject> => {
  if (!Array.isArray(id)) return E.left(notAStorage)
  const [kind, named, key, , elements] = id as readonly PickleValue[]
  if (kind !== 'storage' || !(named instanceof PickleGlobal) || typeof key !== 'string' || !isExtent(elements)) return E.left(notAStorage)
  const type = storageTypes.get(named.name)
  return E.right(type === undefined ? new PickleObject(named.name) : new Storage(type, key, elements))
}

/** The elements from a view's first to its last; none where it is empty. */
export const spannedElements = ({ shape, strides }: Pick<TorchTensor, 'shape' | 'strides'>): number =>
  shape.includes(0) ? 0 : shape.reduce((sum, extent, axis) => sum + (extent - 1) * strides[axis]!, 1)

const decodeTensor = (args: readonly PickleValue[]): E.Either<string, TorchTensor | PickleObject> => {
  const [storage, offset, shape, strides, , , marks] = args
  if (storage instanceof PickleObject) return E.right(storage)
  if (!(storage instanceof Storage) || !isExtent(offset) || !areExtents(shape) || !areExtents(strides) || shape.length !== strides.length)
    return E.left('has a tensor that is no view of a storage')
  // PyTorch's notes that elements are to be negated when they are read, or conjugated.
  if (marks instanceof Map && marks.size > 0)
    return E.left(`has a tensor of shape [${shape.join(', ')}] that is negated only when it is read: save its resolve_neg()`)
  const elements = elementCount(shape)
  const reach = offset + spannedElements({ shape, strides })
  return Number.isSafeInteger(elements) && Number.isSafeInteger(reach) && reach <= storage.elements
    ? E.right(new TorchTensor(storage, offset, shape, strides))
    : E.left(
        `has a tensor of shape [${shape.join(', ')}] that reaches beyond the ${storage.elements} elements of its storage ${storage.key}`
      )
}

const isPair = (value: PickleValue): value is readonly [PickleValue, PickleValue] => Array.isArray(value) && value.length === 2

const orderedDict = ([pairs = []]: readonly PickleValue[]): E.Either<string, PickleValue> =>
  Array.isArray(pairs) && pairs.every(isPair) ? E.right(new Map(pairs)) : E.left('has an OrderedDict that is no list of pairs')

const calls: ReadonlyMap<string, (args: readonly PickleValue[]) => E.Either<string, PickleValue>> = new Map([
  ['collections.OrderedDict', orderedDict],
  ['torch._utils._rebuild_tensor', decodeTensor],
  ['torch._utils._rebuild_tensor_v2', decodeTensor],
  [
    'torch._utils._rebuild_parameter',
    ([data]: readonly PickleValue[]) =>
      data instanceof TorchTensor || data instanceof PickleObject ? E.right(data) : E.left('has a parameter that is no tensor')
  ]
])

/** Whatever else a checkpoint names is not run, and so is an object that nothing is known of. */
const callGlobal = (name: string, args: readonly PickleValue[]): E.Either<string, PickleValue> =>
  calls.get(name)?.(args) ?? E.right(new PickleObject(name))

/** The keys under which trainers keep the weights of a checkpoint. */
const nestedKeys = ['state_dict', 'model_state_dict', 'model']

interface StateDict {
  readonly tensors: ReadonlyMap<string, TorchTensor>
  /** The key of the checkpoint under which they are. */
  readonly nested?: string
  /** The keys of what is beside them, or above. */
  readonly others: readonly string[]
}

const saveWeights = 'save the weights alone, torch.save(model.state_dict(), FILE)'

// Whatever is no text or number may be nested as deeply as a file is long.
const keyText = (key: PickleValue): string => (typeof key === 'object' ? 'a key that is no text' : JSON.stringify(String(key)))

const isCode = (value: PickleValue): value is PickleObject | PickleGlobal => value instanceof PickleObject || value instanceof PickleGlobal

/** Modules, and tensors of kinds that are not read: weights, and not what lies beside weights. */
const mayBeWeights = (value: PickleValue): value is PickleObject =>
  value instanceof PickleObject && value.name.startsWith('torch.') && !['torch.Size', 'torch.device'].includes(value.name)

/** `at` is the key in front of it, if it has one. */
const refuseCode = ({ name }: PickleObject | PickleGlobal, at = ''): E.Either<string, never> =>
  E.left(
    name.endsWith('Storage')
      ? `holds ${at}a tensor of ${name}, which is not read: save it as float32`
      : `holds ${at}${name}, which is code and is not run: ${saveWeights}`
  )

const decodeTensors = (value: PickleValue): E.Either<string, Pick<StateDict, 'tensors' | 'others'>> => {
  if (isCode(value)) return refuseCode(value)
  if (!(value instanceof Map)) return E.left('holds no dict of tensors: save it with torch.save(model.state_dict(), FILE)')
  const entries = [...(value as ReadonlyMap<PickleValue, PickleValue>)]
  const tensors = entries.flatMap(([key, tensor]) =>
    typeof key === 'string' && tensor instanceof TorchTensor ? [[key, tensor] as const] : []
  )
  const others = entries.filter(([key, other]) => typeof key !== 'string' || !(other instanceof TorchTensor))
  for (const [key, other] of others) {
    if (mayBeWeights(other) || (tensors.length === 0 && isCode(other))) return refuseCode(other, `${keyText(key)}, `)
    if (tensors.length === 0 || other instanceof TorchTensor || other instanceof Map)
      return E.left(`holds ${keyText(key)}, which is no tensor, among its tensors: ${saveWeights}`)
  }
  return E.right({ tensors: new Map(tensors), others: others.map(([key]) => (typeof key === 'string' ? key : keyText(key))) })
}

const decodeStateDict = (value: PickleValue): E.Either<string, StateDict> => {
  if (!(value instanceof Map)) return decodeTensors(value)
  const root = value as ReadonlyMap<PickleValue, PickleValue>
  const nested = nestedKeys.find((one) => root.get(one) instanceof Map)
  const module = nestedKeys.map((one) => root.get(one)).find(isCode)
  if (nested === undefined) return module === undefined ? decodeTensors(root) : refuseCode(module)
  const beside = [...root.keys()].flatMap((one) => (typeof one === 'string' && one !== nested ? [one] : []))
  return E.map(({ tensors, others }: Pick<StateDict, 'tensors' | 'others'>) => ({ tensors, nested, others: [...beside, ...others] }))(
    decodeTensors(root.get(nested))
  )
}

/**
 * The tensors of a state dict that `torch.save` wrote, by name, or a sentence. Each reaches no
 * further than the elements that its storage says it has.
 */
export const readStateDict = (bytes: Uint8Array): E.Either<string, StateDict> =>
  pipe(readPickle(bytes, { call: callGlobal, persistent: decodeStorage }), E.chain(decodeStateDict))

/** Bytes of a storage of a file that `torch.save` wrote. */
export const storageBytes = ({ type, elements }: Storage): number => elements * elementBytes[type]
