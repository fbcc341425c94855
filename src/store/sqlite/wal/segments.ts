// The files of the write-ahead log (WAL): a folder of segments, each named by the first delivery that it may hold, so that their names are an order, and
// by the salt of its checksums.
import { randomBytes } from 'node:crypto'
import { fstatSync, openSync, readdirSync, statSync } from 'node:fs'
import { rm, unlink, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { threadId } from 'node:worker_threads'
import { makePrivateFolder } from '../private-place.ts'
import { syncFolder } from '../folder.ts'
import { StoreError } from '../../../lib/fault.ts'
import { leaveOldSchema } from '../../sql/schema.ts'
import type { WalPositions } from './positions.ts'

export interface Segment {
  readonly first: number
  readonly file: string
  readonly salt: number
}

/** Its first delivery and its salt, such as `0000000000000001-5f3a9c01.wal`; a third number where that name was taken. */
const named = /^(\d{16})-([0-9a-f]{8})(?:-\d+)?\.wal$/

/** The folder of the store in this file. */
export function walFolder(storeFile: string): string {
  return `${storeFile}-deliveries`
}

/** In their order; none where there is no folder. */
export function listSegments(folder: string): Segment[] {
  return namesIn(folder)
    .flatMap(name => {
      const [, first, salt] = named.exec(name) ?? []
      if (first === undefined || salt === undefined) return []
      return [{ first: Number(first), file: path.join(folder, name), salt: Number.parseInt(salt, 16) }]
    })
    .sort((a, b) => a.first - b.first || (a.file < b.file ? -1 : 1))
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch (error) {
    if (isMissing(error)) return []
    throw error
  }
}

/** Throws StoreError where a version of before the first release has left deliveries that it did not export. */
export function refuseOldLog(storeFile: string): void {
  const folder = `${storeFile}-inbox`
  if (!namesIn(folder).some(name => name.endsWith('.journal'))) return
  throw new StoreError(
    `${folder} has deliveries of a pre-release version that this version cannot read.`,
    leaveOldSchema('a new file in another folder'),
  )
}

/** Bytes that the segments take. */
export function walBytes(folder: string): number {
  return listSegments(folder).reduce((sum, { file }) => sum + (statSync(file, { throwIfNoEntry: false })?.size ?? 0), 0)
}

export interface OpenSegment extends Segment {
  readonly descriptor: number
}

/** Makes an empty one (folder 0700, file 0600) that is still there after a power failure; answers it open for reading and writing. */
export function createSegment(folder: string, first: number): OpenSegment {
  const salt = randomBytes(4)
  const name = `${String(first).padStart(16, '0')}-${salt.toString('hex')}.wal`
  return { first, salt: salt.readUInt32BE(), ...createFile(path.join(folder, name)) }
}

/** So many may be taken, as where a folder was mounted over again and again. */
const mostNames = 99

/** Makes one of the same name again, or of one like it where somebody has put another file in its place. */
export function createAgain({ file }: Segment): { readonly file: string; readonly descriptor: number } {
  const bare = file.replace(/(-[0-9a-f]{8})-\d+\.wal$/, '$1').replace(/\.wal$/, '')
  for (let count = 0; ; count += 1) {
    try {
      return createFile(count === 0 ? file : `${bare}-${count}.wal`)
    } catch (error) {
      if (count === mostNames || !(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
    }
  }
}

/** Never one that is there: whatever it holds may be somebody's only copy. */
function createFile(file: string): { readonly file: string; readonly descriptor: number } {
  const folder = path.dirname(file)
  makePrivateFolder(folder)
  const descriptor = openSync(file, 'wx+', 0o600)
  syncFolder(folder)
  return { file, descriptor }
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

/** Whether it is this very file that is still to be found by that name. */
export function isThere(file: string, descriptor: number): boolean {
  try {
    const found = statSync(file, { bigint: true })
    const own = fstatSync(descriptor, { bigint: true })
    return found.ino === own.ino && found.dev === own.dev
  } catch {
    return false
  }
}

/** Removes it. What the disk still has of it is overwritten when the file system gives its blocks to another file. */
export async function eraseSegment({ file }: Pick<Segment, 'file'>): Promise<void> {
  try {
    await unlink(file)
  } catch (error) {
    if (!isMissing(error)) throw error
  }
}

/**
 * Those of them that hold nothing but deliveries up to `processed`; the first delivery behind all of them is `next`. Of two that begin
 * with the same one, as where the older of them came back, either may have more.
 */
export function spentSegments<T extends Segment>(segments: readonly T[], next: number, processed: number): T[] {
  const firsts = [...new Set(segments.map(({ first }) => first)), next]
  const behind = new Map(firsts.map((first, at) => [first, firsts[at + 1] ?? next]))
  return segments.filter(({ first }) => (behind.get(first) ?? next) - 1 <= processed)
}

/** All that is processed, where nobody writes the WAL. */
export async function eraseProcessed(folder: string, { end, processed }: WalPositions): Promise<void> {
  for (const segment of spentSegments(listSegments(folder), end.seq + 1, processed)) await eraseSegment(segment)
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
  return error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR')
}
