// The files of the write-ahead log (WAL): a folder of segments. The name of each has its first delivery, so that names sort in order, and the
// salt of its checksums.
import { randomBytes } from 'node:crypto'
import { existsSync, fstatSync, openSync, readdirSync, statSync } from 'node:fs'
import { rename, rm, unlink, writeFile } from 'node:fs/promises'
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

/** Such as `0000000000000001-5f3a9c01.wal`; with a third number if that name was taken. */
const named = /^(\d{16})-([0-9a-f]{8})(?:-\d+)?\.wal$/

export function walFolder(storeFile: string): string {
  return `${storeFile}-deliveries`
}

/** Added to the name of a file that has deliveries that could not be read (`unread-deliveries.ts`). */
const unread = '.unread'

/** In order; empty if there is no folder. */
export function listSegments(folder: string): Segment[] {
  return segmentsOf(folder, namesIn(folder))
}

/** Those that were set aside. */
export function listSetAside(folder: string): Segment[] {
  const names = namesIn(folder).filter(name => name.endsWith(unread))
  return segmentsOf(folder, names, unread)
}

function segmentsOf(folder: string, names: readonly string[], ending = ''): Segment[] {
  return names
    .flatMap(name => {
      const [, first, salt] = named.exec(name.slice(0, name.length - ending.length)) ?? []
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

/** Throws StoreError if a version from before the first release has left deliveries that it did not export. */
export function refuseOldLog(storeFile: string): void {
  const folder = `${storeFile}-inbox`
  if (!namesIn(folder).some(name => name.endsWith('.journal'))) return
  throw new StoreError(
    `${folder} has deliveries of a pre-release version that this version cannot read.`,
    leaveOldSchema('a new file in another folder'),
  )
}

/** The size of all segments, also of those that were set aside. */
export function walBytes(folder: string): number {
  const all = [...listSegments(folder), ...listSetAside(folder)]
  return all.reduce((sum, { file }) => sum + (statSync(file, { throwIfNoEntry: false })?.size ?? 0), 0)
}

interface OpenSegment extends Segment {
  readonly descriptor: number
}

/** Creates an empty one (folder 0700, file 0600) that survives a power failure, open for reading and writing. */
export function createSegment(folder: string, first: number): OpenSegment {
  const salt = randomBytes(4)
  const name = `${String(first).padStart(16, '0')}-${salt.toString('hex')}.wal`
  return { first, salt: salt.readUInt32BE(), ...createFile(path.join(folder, name)) }
}

/** So many names may be taken, as after a folder was mounted over again and again. */
const mostNames = 99

/** Creates the file again, under a similar name if another file has taken its place. */
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

/** Never overwrites a file: it may be the only copy of its deliveries. */
function createFile(file: string): { readonly file: string; readonly descriptor: number } {
  const folder = path.dirname(file)
  makePrivateFolder(folder)
  const descriptor = openSync(file, 'wx+', 0o600)
  syncFolder(folder)
  return { file, descriptor }
}

/** Open for reading; undefined if it does not exist any more. */
export function openSegment({ file }: Pick<Segment, 'file'>): number | undefined {
  try {
    return openSync(file, 'r')
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
}

/** True if the open file is still the one with this name. */
export function isThere(file: string, descriptor: number): boolean {
  try {
    const found = statSync(file, { bigint: true })
    const own = fstatSync(descriptor, { bigint: true })
    return found.ino === own.ino && found.dev === own.dev
  } catch {
    return false
  }
}

/** Its blocks are overwritten only when the file system reuses them. */
export async function eraseSegment({ file }: Pick<Segment, 'file'>): Promise<void> {
  try {
    await unlink(file)
  } catch (error) {
    if (!isMissing(error)) throw error
  }
}

/** Renames it to a name that no other file has: what it has is not lost. */
export async function setAside({ file }: Pick<Segment, 'file'>): Promise<void> {
  const bare = file.replace(/(?:-\d+)?\.wal$/, '')
  let name = `${file}${unread}`
  for (let count = 1; existsSync(name); count += 1) name = `${bare}-${count}.wal${unread}`
  try {
    await rename(file, name)
  } catch (error) {
    if (!isMissing(error)) throw error
  }
}

/** A segment of which no delivery is waited for any more, and the last delivery that it may have. */
export type SpentSegment<T extends Segment> = T & { readonly last: number }

/**
 * The segments that are spent up to `spent`. `next`: the first delivery after all segments. If two begin with the same
 * delivery, because the older one came back, either may have more.
 */
export function spentSegments<T extends Segment>(
  segments: readonly T[],
  next: number,
  spent: number,
): SpentSegment<T>[] {
  const firsts = [...new Set(segments.map(({ first }) => first)), next]
  const behind = new Map(firsts.map((first, at) => [first, firsts[at + 1] ?? next]))
  return segments
    .map(segment => ({ ...segment, last: (behind.get(segment.first) ?? next) - 1 }))
    .filter(({ last }) => last <= spent)
}

/** True if a file with these deliveries may have some that could not be read. */
export type MayHaveUnread = (first: number, last: number) => boolean

/** Erases a segment, or sets it aside: a delivery is never erased because it could not be read. */
export async function removeSpent(segment: SpentSegment<Segment>, mayHaveUnread: MayHaveUnread): Promise<void> {
  if (mayHaveUnread(segment.first, segment.last)) await setAside(segment)
  else await eraseSegment(segment)
}

/** Only while nobody writes the WAL. */
export async function removeAllSpent(
  folder: string,
  { end, processed }: WalPositions,
  mayHaveUnread: MayHaveUnread,
): Promise<void> {
  for (const one of spentSegments(listSegments(folder), end.seq + 1, processed)) await removeSpent(one, mayHaveUnread)
}

/** A disk counts as not full if it has room for a large delivery, bytes. */
export const usualRoom = 256 * 1024

/** Proves that the disk has room for so many bytes; throws what the file system throws. */
export async function proveFolder(folder: string, bytes: number): Promise<void> {
  const file = path.join(folder, `probe-${threadId}`)
  try {
    // Overwriting an existing file would prove nothing.
    await rm(file, { force: true })
    await writeFile(file, Buffer.alloc(bytes), { mode: 0o600, flush: true })
  } finally {
    await rm(file, { force: true })
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR')
}
