// Writes a file of the write-ahead log (WAL) again that was removed while it was open, byte for byte, so that every record keeps its offset.
import { closeSync, fdatasyncSync, fstatSync, readSync, rmSync, writeSync } from 'node:fs'
import { createAgain, type Segment } from './segments.ts'

const chunk = 1 << 20

/** At most `length` bytes of it. Throws what the file system throws, and then leaves no file. */
export function writeAgain(
  segment: Segment,
  descriptor: number,
  length = fstatSync(descriptor).size,
): { readonly file: string; readonly descriptor: number } {
  const made = createAgain(segment)
  try {
    for (let at = 0; at < length;) {
      const bytes = Buffer.allocUnsafe(Math.min(chunk, length - at))
      const read = readSync(descriptor, bytes, 0, bytes.length, at)
      if (read === 0) break
      for (let written = 0; written < read;)
        written += writeSync(made.descriptor, bytes, written, read - written, at + written)
      at += read
    }
    fdatasyncSync(made.descriptor)
    return made
  } catch (error) {
    closeSync(made.descriptor)
    rmSync(made.file, { force: true })
    throw error
  }
}
