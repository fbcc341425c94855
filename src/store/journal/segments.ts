// The journal's files: a folder of segments, each named by the first delivery that it may hold, so that their names are an order.
import { openSync, readdirSync, renameSync, statSync } from 'node:fs'
import { open, rm, unlink, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { threadId } from 'node:worker_threads'
import { makePrivateFolder } from '../private-place.ts'
import { makeFolder, syncFolder } from '../folder.ts'
import { StoreError } from '../../lib/fault.ts'
import type { JournalMarks } from './marks.ts'

export interface Segment {
  readonly first: number
  readonly file: string
}

const ending = '.journal'

/** The folder of the store in this file. */
export function journalFolder(storeFile: string): string {
  return `${storeFile}-inbox`
}

/** In their order; none where there is no folder. */
export function listSegments(folder: string): Segment[] {
  return namesIn(folder)
    .filter(name => name.endsWith(ending))
    .map(name => ({ first: Number.parseInt(name, 10), file: path.join(folder, name) }))
    .sort((a, b) => a.first - b.first)
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch (error) {
    if (isMissing(error)) return []
    throw error
  }
}

/** Moves what one folder holds to another. Throws StoreError where both hold some. */
export function moveJournal(from: string, to: string): void {
  if (from === to || listSegments(from).length === 0) return
  if (listSegments(to).length > 0) {
    throw new StoreError(
      `There are two folders of deliveries for one store: ${from} and ${to}.`,
      'Start the daemon with a copy of the store beside each, or move the older one away.',
    )
  }
  makeFolder(to)
  for (const { file } of listSegments(from)) renameSync(file, path.join(to, path.basename(file)))
  for (const folder of [to, from]) syncFolder(folder)
}

/** Bytes that the segments take. */
export function journalBytes(folder: string): number {
  return listSegments(folder).reduce((sum, { file }) => sum + (statSync(file, { throwIfNoEntry: false })?.size ?? 0), 0)
}

/** Makes an empty one (folder 0700, file 0600) that is still there after a power failure; answers it open for writing. */
export function createSegment(folder: string, first: number): Segment & { readonly descriptor: number } {
  makePrivateFolder(folder)
  const file = path.join(folder, `${String(first).padStart(16, '0')}${ending}`)
  const descriptor = openSync(file, 'w', 0o600)
  syncFolder(folder)
  return { first, file, descriptor }
}

/** Open for reading; undefined where it is not there any more. */
export function openSegment({ file }: Pick<Segment, 'file'>): number | undefined {
  try {
    return openSync(file, 'r')
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
}

const zeros = Buffer.alloc(1 << 20)

/** Overwrites it, waits until that is on the disk, and removes it: bodies may hold secrets. */
export async function eraseSegment({ file }: Segment): Promise<void> {
  try {
    const handle = await open(file, 'r+')
    try {
      const { size } = await handle.stat()
      for (let at = 0; at < size; at += zeros.length) {
        await handle.write(zeros, 0, Math.min(zeros.length, size - at), at)
      }
      await handle.datasync()
    } finally {
      await handle.close()
    }
    await unlink(file)
  } catch (error) {
    if (!isMissing(error)) throw error
  }
}

/** Those of them that hold nothing but deliveries up to `understood`; the first delivery behind all of them is `next`. */
export function spentSegments<T extends Segment>(segments: readonly T[], next: number, understood: number): T[] {
  return segments.filter((_, at) => (segments[at + 1]?.first ?? next) - 1 <= understood)
}

/** All that is understood, where nobody writes the journal. */
export async function eraseUnderstood(folder: string, { end, understood }: JournalMarks): Promise<void> {
  for (const segment of spentSegments(listSegments(folder), end.seq + 1, understood)) await eraseSegment(segment)
}

/** What a disk that is not full takes: a large delivery, bytes. */
export const usualRoom = 256 * 1024

/** Shows that the disk takes so many bytes more; throws what the file system throws. */
export async function proveFolder(folder: string, bytes: number): Promise<void> {
  const file = path.join(folder, `probe-${threadId}`)
  try {
    // A file that is there already has its place, whether or not there is any left.
    await rm(file, { force: true })
    await writeFile(file, Buffer.alloc(bytes), { mode: 0o600, flush: true })
  } finally {
    await rm(file, { force: true })
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT'
}
