// A store with its accepted deliveries, both of their ends in this process: what is put in at one comes out at the other, whatever becomes of the files
// between them.
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { pino } from 'pino'
import { delivery } from './exercise.ts'
import { deliveryFolder, listDeliveryFiles } from '../../src/store/sqlite/deliveries/files.ts'
import { deliveryPositions } from '../../src/store/sqlite/deliveries/positions.ts'
import { openSqlite } from '../../src/store/sqlite/open-sqlite.ts'
import { openSqliteInboxWriter } from '../../src/store/sqlite/deliveries/writer.ts'
import type { InboxWriter } from '../../src/store/ports/inbox.ts'
import type { Store } from '../../src/store/ports/store.ts'

interface Said {
  readonly msg: string
  readonly deliveries?: number
  readonly files?: readonly string[]
}

export class WithDeliveries {
  readonly file: string
  readonly said: Said[] = []
  /** Of the monotonic clock, ms. */
  elapsed = 0
  store!: Store
  writer!: InboxWriter

  constructor(file = path.join(mkdtempSync(path.join(tmpdir(), 'pipespan-deliveries-')), 'pipespan.db')) {
    this.file = file
    this.open()
  }

  get folder(): string {
    return deliveryFolder(this.file)
  }

  open(): void {
    const positions = deliveryPositions()
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

  /** The files that a process leaves that is killed at this moment: the path of the store among them. */
  killed(): string {
    const folder = mkdtempSync(path.join(tmpdir(), 'pipespan-deliveries-'))
    cpSync(path.dirname(this.file), folder, { recursive: true })
    return path.join(folder, path.basename(this.file))
  }

  async put(...names: string[]) {
    return this.writer.put(names.map(name => delivery(name)))
  }

  files(): string[] {
    return listDeliveryFiles(this.folder).map(one => one.path)
  }

  async lost(): Promise<number | undefined> {
    return (await this.store.counters.all()).get('pruned.unreadable_deliveries')
  }

  /** What the writer does once a second. */
  async tidy(): Promise<void> {
    await this.writer.proveWritable()
  }

  /** The keys of what can be read now, which is processed. */
  async workOff(): Promise<(string | undefined)[]> {
    const lease = await this.store.inbox.lease(100, 1e9, 60_000)
    await this.store.inbox.erase(
      lease.token,
      lease.items.map(({ id }) => id),
    )
    await this.store.inbox.readingEnded(lease, true)
    return lease.items.map(({ key }) => key)
  }
}
