import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import * as t from 'io-ts'
import { decodeAs } from '../../staging/decoding/decode'
import { strictObject } from '../../staging/decoding/strict-object'
import { predicateCodec, oneOfCodec } from '../../staging/decoding/predicate-codec'
import { decoderCodec, boundedListCodec, pathCodec, textCodec, wholeNumberCodec } from '../options/codecs'
import type { Outcome } from '../failure'
import { type Metadata, type TensorData, metadataKey, writeTensors } from './safetensors'
import { elementBytes } from './element-types'
import { libraryFunction } from '../options/decode-options'
import { required } from '../options/option'

/** The arrays that hold elements of each type, beside plain bytes. */
const arrays = { F32: Float32Array, F64: Float64Array, I64: BigInt64Array } as const

const view = predicateCodec<ArrayBufferView>('a typed array or a Buffer', ArrayBuffer.isView)

const fields = strictObject<TensorData>(
  'a tensor',
  'field',
  { name: textCodec, type: oneOfCodec('F32', 'F64', 'I64'), shape: boundedListCodec(wholeNumberCodec(0)), data: view },
  {}
)

const areBytes = (data: ArrayBufferView): boolean => data instanceof Uint8Array || data instanceof DataView

const findFault = ({ name, type, shape, data }: TensorData): string | undefined => {
  const bytes = shape.reduce((product, extent) => product * extent, elementBytes[type])
  if (name === metadataKey) return `no tensor may be called ${metadataKey}`
  if (!areBytes(data) && !(data instanceof arrays[type])) return `${name} is ${type}, but its data are no ${arrays[type].name}`
  return data.byteLength === bytes
    ? undefined
    : `${name} of shape [${shape.join(', ')}] and type ${type} needs ${bytes} bytes but its data hold ${data.byteLength}`
}

const tensor: t.Type<TensorData> = decoderCodec('a tensor', (value) =>
  pipe(
    decodeAs('tensor', fields)(value),
    E.chain((decoded) => {
      const fault = findFault(decoded)
      return fault === undefined ? E.right(decoded) : E.left(fault)
    })
  )
)

const tensors = decoderCodec('a list of tensors', (value) =>
  pipe(
    decodeAs('list of tensors', boundedListCodec(tensor))(value),
    E.filterOrElse(
      (list) => new Set(list.map(({ name }) => name)).size === list.length,
      () => 'two have the same name'
    )
  )
)

const metadata = decoderCodec('texts by name', (value) => decodeAs('record of texts', t.record(t.string, t.string))(value))

const writing = {
  path: required({ codec: pathCodec }, ''),
  tensors: required({ codec: tensors }, ''),
  metadata: required({ codec: metadata }, '')
}

const write = libraryFunction('writeTensorFile', writing, ({ path, tensors, metadata }) => writeTensors(path, tensors, metadata))

/**
 * Writes a safetensors file whole or not at all; each tensor's data are an array of its type, or
 * plain bytes.
 */
export const writeTensorFile = (path: string, tensors: readonly TensorData[], metadata: Metadata = {}): Outcome<void> =>
  write({ path, tensors, metadata })
