// A store with its write-ahead log, both of its ends in this process: what is put in at one comes out at the other, whatever becomes of
// the files between them.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { pino } from 'pino'
import { delivery } from './exercise.ts'
import { walFolder, listSegments, listSetAside } from '../../src/store/sqlite/wal/segments.ts'
import { walPositions } from '../../src/store/sqlite/wal/positions.ts'
import { openSqlite } from '../../src/store/sqlite/open-sqlite.ts'
import { openSqliteInboxWriter } from '../../src/store/sqlite/inbox-writer.ts'
import type { InboxWriter } from '../../src/store/ports/inbox.ts'
import type { Store } from '../../src/store/ports/store.ts'

interface Said {
  readonly msg: string
  readonly deliveries?: number
  readonly unread?: readonly { readonly file: string; readonly offset: number; readonly bytes: number }[]
}

/** A folder in the place of a file, of some bytes as each is on a disk: in memory, it has as many as what is in it. */
export function folderAt(file: string): void {
  mkdirSync(file)
  for (let n = 0; n < 300; n += 1) writeFileSync(path.join(file, String(n)), '')
}

export class WithWal {
  readonly file = path.join(mkdtempSync(path.join(tmpdir(), 'pipespan-wal-')), 'pipespan.db')
  readonly said: Said[] = []
  /** Of the monotonic clock, ms. */
  elapsed = 0
  store!: Store
  writer!: InboxWriter

  constructor() {
    this.open()
  }

  get folder(): string {
    return walFolder(this.file)
  }

  open(): void {
    const positions = walPositions()
    const log = pino({ base: null }, { write: (line: string) => void this.said.push(JSON.parse(line) as Said) })
    const options = { now: () => Date.now(), elapsed: () => this.elapsed, maxSize: 2 ** 30, log }
    this.store = openSqlite(this.file, options, positions)
    this.writer = openSqliteInboxWriter(this.file, options, positions)
  }

  async close(): Promise<void> {
    await this.writer.close()
    await this.store.close()
  }

  async remove(): Promise<void> {
    await this.close()
    rmSync(path.dirname(this.file), { recursive: true })
  }

  async put(...names: string[]) {
    return this.writer.put(names.map(name => delivery(name)))
  }

  segments(): string[] {
    return listSegments(this.folder).map(one => one.file)
  }

  /** Files with deliveries that could not be read. */
  setAside(): string[] {
    return listSetAside(this.folder).map(one => one.file)
  }

  async lost(): Promise<number | undefined> {
    return (await this.store.counters.all()).get('pruned.unreadable_deliveries')
  }

  /** The writer looks whether all is in its place: as often as a reader waits for before it gives up what it has missed. */
  async look(): Promise<void> {
    for (let count = 0; count < 2; count += 1) await this.writer.proveWritable()
  }

  /** Takes in whatever can be read now. */
  async workOff(): Promise<[number, string | undefined][]> {
    const { token, items } = await this.store.inbox.lease(100, 1e9, 60_000)
    await this.store.inbox.erase(
      token,
      items.map(({ id }) => id),
    )
    return items.map(({ id, key }) => [id, key])
  }
}
