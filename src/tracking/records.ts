import { buf as crc32c } from 'crc-32/crc32c'

/** TFRecord's check of some bytes: their CRC-32C, turned and moved, so that sums of sums differ. */
const masked = (bytes: Uint8Array): number => {
  const crc = crc32c(bytes) >>> 0
  return (((crc >>> 15) | (crc << 17)) + 0xa282ead8) >>> 0
}

/** Bytes as a record of a TFRecord file: their length, its check, they, and theirs. */
export const tfRecord = (bytes: Uint8Array): Buffer => {
  const header = Buffer.alloc(12)
  header.writeBigUInt64LE(BigInt(bytes.length))
  header.writeUInt32LE(masked(header.subarray(0, 8)), 8)
  const footer = Buffer.alloc(4)
  footer.writeUInt32LE(masked(bytes))
  return Buffer.concat([header, bytes, footer])
}
