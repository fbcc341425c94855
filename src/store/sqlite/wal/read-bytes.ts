// Reads bytes of a file of the write-ahead log (WAL), even from a damaged disk.
import { readSync } from 'node:fs'

/** After an error each block of the file system, in bytes, is read separately, so that only damaged ones are lost. */
const block = 4_096
/** Reading stops after so many damaged blocks in a row: a disk may take seconds for each. */
const patience = 16

/** At most `length` bytes. Unreadable ones are zeros, which are no record. */
export function readBytes(descriptor: number, from: number, length: number): Buffer {
  const bytes = Buffer.allocUnsafeSlow(length)
  try {
    return bytes.subarray(0, readSync(descriptor, bytes, 0, length, from))
  } catch (error) {
    if (!isOfTheDisk(error)) throw error
  }
  bytes.fill(0)
  let failures = 0
  for (let at = 0; at < length && failures < patience; at += block) {
    try {
      readSync(descriptor, bytes, at, Math.min(block, length - at), from + at)
      failures = 0
    } catch (error) {
      if (!isOfTheDisk(error)) throw error
      failures += 1
    }
  }
  return bytes
}

/** True if another try would fail, too. Other errors (no file descriptors left, no permission) may pass. */
function isOfTheDisk(error: unknown): boolean {
  return error instanceof Error && 'code' in error && damage.includes(String(error.code))
}

const damage = ['EIO', 'EISDIR', 'ENXIO', 'EBADMSG', 'EUCLEAN', 'ENODATA', 'EREMOTEIO']
