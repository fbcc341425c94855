// Tests the shipped daemon with a damaged database file: the daemon and the commands exit with one sentence that names the remedy.
import { closeSync, fstatSync, openSync, renameSync, writeSync } from 'node:fs'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { beforeEach, describe, expect, it } from 'vitest'
import { closeAfterTest } from '../support/after-test.ts'
import { OtlpReceiver } from '../support/otlp-receiver.ts'
import { pipelineEvent } from '../bounds/pipelines.ts'
import { Daemon } from './daemon.ts'

const pageSize = 16_384
const sentence =
  /The store .*pipespan\.db is damaged: .*\. Restore a backup. Or move the file away, .* `pipespan backfill --since`/

describe('a damaged SQLite file', () => {
  let daemon: Daemon
  let receiver: OtlpReceiver
  let id = 0

  /** All data is checkpointed into the store's main file, so that the WAL contains none. */
  beforeEach(async () => {
    receiver = closeAfterTest(await OtlpReceiver.start())
    daemon = await Daemon.start({ OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, PIPESPAN_SETTLE: '1ms' })
    for (let more = 0; more < 3; more += 1) expect(await post()).toBe(202)
    expect((await daemon.stop()).code).toBe(0)
  })

  async function post(): Promise<number | undefined> {
    id += 1
    const answer = daemon.post(pipelineEvent({ id }))
    return answer.then(({ status }) => status).catch(() => undefined)
  }

  function overwrite(fromPage: number, toPage = Infinity): void {
    const file = openSync(daemon.storeFile, 'r+')
    const pages = Math.min(toPage, fstatSync(file).size / pageSize)
    for (let page = fromPage; page < pages; page += 1) {
      writeSync(file, Buffer.alloc(pageSize, 0xff), 0, pageSize, page * pageSize)
    }
    closeSync(file)
  }

  it.each([
    ['the first page of the database file was', 0, 1],
    ['all other pages of the database file were', 1, undefined],
  ])('refuses to start or run commands if %s overwritten', async (_what, from, to) => {
    overwrite(from, to)
    expect(await daemon.startAgain({})).toBe(false)
    expect(await daemon.process.ended).toEqual({ code: 1, signal: null })
    expect(daemon.process.log.filter(({ level }) => level === 60).map(({ msg }) => msg)).toEqual([
      expect.stringMatching(sentence),
    ])
    const backup = ['store', 'backup', path.join(daemon.folder, 'backup.db')]
    for (const command of [['inbox', 'list'], ['dead-letters', 'list'], backup]) {
      const { code, stderr } = await daemon.command(...command)
      expect([code, stderr]).toEqual([1, expect.stringMatching(sentence)])
    }
    const folder = path.dirname(daemon.storeFile)
    renameSync(folder, `${folder}.damaged`)
    await daemon.restart()
    expect(await post()).toBe(202)
  })

  it('exits if the database file is overwritten while the daemon runs, and acknowledges no uncommitted delivery', async () => {
    await daemon.restart()
    // A commit on another connection makes the daemon read its cached pages again.
    const other = new DatabaseSync(daemon.storeFile, { timeout: 10_000 })
    other.exec("INSERT INTO counters (name, value) VALUES ('foreign', 1)")
    overwrite(1)
    other.close()
    expect(await post()).not.toBe(202)
    expect(await daemon.process.ended).toEqual({ code: 1, signal: null })
    expect((await daemon.process.logged('is damaged')).msg).toMatch(sentence)
  })
})
