import * as t from 'io-ts'

const unread = t.readonly(t.tuple([t.number, t.string]))
/** An image that cannot be read, by its place in the data, and why. */
export type Unread = t.TypeOf<typeof unread>

/** Codec of the images that a rank could not read. */
export const unreadCodec = t.readonlyArray(unread, 'list of images that cannot be read')
