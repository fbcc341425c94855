// Reads protobuf that Pipespan itself wrote. Throws a DataError if the bytes end too early.
import { DataError } from '../../../lib/fault.ts'

export class ByteReader {
  readonly #bytes: Buffer
  readonly #view: DataView
  #at = 0

  constructor(bytes: Uint8Array) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#bytes.length
  }

  varint(): bigint {
    let value = 0n
    for (let shift = 0n; ; shift += 7n) {
      const byte = this.#view.getUint8(this.#next(1))
      value |= BigInt(byte & 0x7f) << shift
      if (byte < 0x80) return value
    }
  }

  fixed32(): number {
    return this.#view.getUint32(this.#next(4), true)
  }

  fixed64(): bigint {
    return this.#view.getBigInt64(this.#next(8), true)
  }

  double(): number {
    return this.#view.getFloat64(this.#next(8), true)
  }

  /** Reads length-prefixed bytes. */
  delimited(): Buffer {
    const length = Number(this.varint())
    const start = this.#next(length)
    return this.#bytes.subarray(start, start + length)
  }

  #next(size: number): number {
    const start = this.#at
    this.#at += size
    if (this.#at > this.#bytes.length) {
      throw new DataError('Stored telemetry is damaged.', 'A backup may still have it intact.')
    }
    return start
  }
}
