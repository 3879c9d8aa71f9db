import protobuf from 'protobufjs/light'

type Fields = Readonly<Record<string, readonly [type: string, id: number, rule?: 'repeated']>>

const message = (fields: Fields): protobuf.IType => ({
  fields: Object.fromEntries(
    Object.entries(fields).map(([name, [type, id, rule]]) => [name, { type, id, ...(rule === undefined ? {} : { rule }) }])
  )
})

/** A message of which one of some fields is there: it is written where it is 0 too. */
const withOneof = (name: string, oneof: readonly string[], fields: Fields): protobuf.IType => ({
  ...message(fields),
  oneofs: { [name]: { oneof: [...oneof] } }
})

/** A message that maps texts to messages of a type, in its field 1 or another. */
const withMap = (fields: Fields, name: string, type: string, id: number): protobuf.IType => {
  const { fields: others } = message(fields)
  const map: protobuf.IMapField = { keyType: 'string', type, id }
  return { fields: { ...others, [name]: map } }
}

/**
 * What of TensorBoard's messages event files of ours have, with the numbers of their fields:
 * tensorboard/compat/proto (event, summary, tensor, graph, node_def, attr_value, tensor_shape) and
 * plugins/hparams/plugin_data.
 */
const root = protobuf.Root.fromJSON({
  nested: {
    Event: message({
      wallTime: ['double', 1],
      step: ['int64', 2],
      fileVersion: ['string', 3],
      graphDef: ['bytes', 4],
      summary: ['Summary', 5],
      sessionLog: ['SessionLog', 7]
    }),
    SessionLog: message({ status: ['int32', 1] }),
    Summary: message({ value: ['Value', 1, 'repeated'] }),
    Value: withOneof('value', ['simpleValue', 'image', 'tensor'], {
      tag: ['string', 1],
      simpleValue: ['float', 2],
      image: ['Image', 4],
      tensor: ['Tensor', 8],
      metadata: ['Metadata', 9]
    }),
    Image: message({ height: ['int32', 1], width: ['int32', 2], colorspace: ['int32', 3], encodedImageString: ['bytes', 4] }),
    Tensor: message({ dtype: ['int32', 1], stringVal: ['bytes', 8, 'repeated'] }),
    Metadata: message({ pluginData: ['PluginData', 1] }),
    PluginData: message({ pluginName: ['string', 1], content: ['bytes', 2] }),
    HparamsPluginData: message({ sessionStartInfo: ['SessionStartInfo', 3], sessionEndInfo: ['SessionEndInfo', 4] }),
    SessionStartInfo: withMap({ startTimeSecs: ['double', 5] }, 'hparams', 'Hparam', 1),
    SessionEndInfo: message({ status: ['int32', 1], endTimeSecs: ['double', 2] }),
    Hparam: withOneof('kind', ['numberValue', 'stringValue'], { numberValue: ['double', 2], stringValue: ['string', 3] }),
    GraphDef: message({ node: ['NodeDef', 1, 'repeated'], versions: ['Versions', 4] }),
    Versions: message({ producer: ['int32', 1] }),
    NodeDef: withMap({ name: ['string', 1], op: ['string', 2], input: ['string', 3, 'repeated'] }, 'attr', 'AttrValue', 5),
    AttrValue: message({ list: ['ListValue', 1] }),
    ListValue: message({ shape: ['Shape', 7, 'repeated'] }),
    Shape: message({ dim: ['Dim', 2, 'repeated'] }),
    Dim: message({ size: ['int64', 1] })
  }
})

/** Bytes of a message; one that its type does not have is a bug. */
export const encodeMessage = (type: 'Event' | 'GraphDef' | 'HparamsPluginData', value: object): Uint8Array => {
  const messages = root.lookupType(type)
  return messages.encode(messages.fromObject(value)).finish()
}
