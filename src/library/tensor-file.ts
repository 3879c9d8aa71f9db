import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import * as t from 'io-ts'
import { decodeAs } from '../../staging/decoding/decode'
import { exactly } from '../../staging/decoding/exactly'
import { accepting, decoding, listOf, oneOf, path, text, whole } from '../codecs'
import type { Outcome } from '../failure'
import { type Metadata, type TensorData, metadataKey, writeTensorFile as write } from '../safetensors'
import { answering, optionsOf } from './answering'

const elementBytes = { F32: 4, F64: 8, I64: 8 } as const

/** What holds elements of each type, beside plain bytes. */
const arrays = { F32: Float32Array, F64: Float64Array, I64: BigInt64Array } as const

const view = accepting<ArrayBufferView>('a typed array or a Buffer', ArrayBuffer.isView)

const fields = exactly<TensorData>(
  'a tensor',
  'field',
  { name: text, type: oneOf('F32', 'F64', 'I64'), shape: listOf(whole(0)), data: view },
  {}
)

const areBytes = (data: ArrayBufferView): boolean => data instanceof Uint8Array || data instanceof DataView

const faultOf = ({ name, type, shape, data }: TensorData): string | undefined => {
  const bytes = shape.reduce((product, extent) => product * extent, elementBytes[type])
  if (name === metadataKey) return `no tensor may be called ${metadataKey}`
  if (!areBytes(data) && !(data instanceof arrays[type])) return `${name} is ${type}, but its data are no ${arrays[type].name}`
  return data.byteLength === bytes
    ? undefined
    : `${name} of shape [${shape.join(', ')}] and type ${type} needs ${bytes} bytes but its data hold ${data.byteLength}`
}

const tensor: t.Type<TensorData> = decoding('a tensor', (value) =>
  pipe(
    decodeAs('tensor', fields)(value),
    E.chain((decoded) => {
      const fault = faultOf(decoded)
      return fault === undefined ? E.right(decoded) : E.left(fault)
    })
  )
)

const tensors = decoding('a list of tensors', (value) =>
  pipe(
    decodeAs('list of tensors', listOf(tensor))(value),
    E.filterOrElse(
      (list) => new Set(list.map(({ name }) => name)).size === list.length,
      () => 'two have the same name'
    )
  )
)

const metadata = decoding('texts by name', (value) => decodeAs('record of texts', t.record(t.string, t.string))(value))

interface Writing {
  readonly path: string
  readonly tensors: readonly TensorData[]
  readonly metadata: Metadata
}

const writing = optionsOf<Writing>('writeTensorFile', { path, tensors, metadata }, {})
const answer = answering(writing, ({ path, tensors, metadata }) => write(path, tensors, metadata))

/**
 * Writes a safetensors file whole or not at all; each tensor's data are an array of its type, or
 * plain bytes.
 */
export const writeTensorFile = (path: string, tensors: readonly TensorData[], metadata: Metadata = {}): Outcome<void> =>
  answer({ path, tensors, metadata })
