// Documents of a column of bytes: JSON, compressed, because the documents of runs repeat the same names and addresses over and over (decision 116).
import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import { damagedData } from './stored-json.ts'

/** The lowest level: higher ones take several times as long for a tenth fewer bytes. */
const quick = { params: { [constants.ZSTD_c_compressionLevel]: 1 } }

export function documentBytes(value: unknown): Uint8Array {
  return zstdCompressSync(JSON.stringify(value), quick)
}

/** Its shape is not checked. Throws DataError if it is damaged. */
// eslint-disable-next-line @typescript-eslint/no-unnecessary-type-parameters -- the column says what it holds, not the bytes
export function documentOf<T>(bytes: Uint8Array): T {
  try {
    return JSON.parse(zstdDecompressSync(bytes).toString()) as T
  } catch {
    throw damagedData()
  }
}
