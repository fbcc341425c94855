// Bytes of a file of the write-ahead log (WAL), also of one that the disk gives back only in part.
import { readSync } from 'node:fs'

/** The usual block of a file system, bytes. Each is read by itself, so that one that is damaged does not take its neighbours with it. */
const block = 4_096
/** After so many damaged blocks in a row the rest is given up: a disk may take seconds for each. */
const patience = 16

/** At most so many bytes from there on. What the disk does not give back is zeros, which are no record. */
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

/** True where another try would end the same; any other error (no descriptors left, no right to read) may pass. */
function isOfTheDisk(error: unknown): boolean {
  return error instanceof Error && 'code' in error && damage.includes(String(error.code))
}

const damage = ['EIO', 'EISDIR', 'ENXIO', 'EBADMSG', 'EUCLEAN', 'ENODATA', 'EREMOTEIO']
