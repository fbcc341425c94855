// Tests what rotations read from the store: the daemons' reports about their tokens, and journals.
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, it } from 'vitest'
import { closeAfterTest, temporaryFolder } from '../../support/after-test.ts'
import { rotationStore } from '../../../src/features/tokens/rotation-store.ts'
import { createTokenReport } from '../../../src/features/tokens/daemon-token-report.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { createLog } from '../../../src/lib/log.ts'
import { Secret, fingerprintOf } from '../../../src/lib/secret.ts'
import { openSqlite } from '../../support/stores.ts'
import { daemonReports, journals } from '../../../src/features/tokens/documents.ts'
import { until } from './loaded-daemon.ts'

const log = createLog({ level: 'silent', format: 'json' })

function openWorld() {
  const world = { now: Date.now(), tokens: [] as Secret[] }
  const store = closeAfterTest(
    openSqlite(path.join(temporaryFolder(), 'pipespan.db'), { maxSize: 1e9, now: () => world.now }),
  )
  const reports = store.repositories.of(daemonReports)
  const report = createTokenReport({ reports, tokens: () => world.tokens, clock: systemClock, log })
  const reported = async () =>
    (await rotationStore(store.repositories).tokenReports()).map(one => one.tokenFingerprint).sort()
  return { world, reports, report, reported }
}

it("reports the fingerprints of all of a daemon's tokens, updated after each change, until the daemon stops", async () => {
  const { world, report, reported, reports } = openWorld()
  const [one, two, three] = ['token-one', 'token-two', 'token-three'].map(value => new Secret(value))
  const expected = (...tokens: (Secret | undefined)[]) =>
    tokens.flatMap(token => (token ? fingerprintOf(token) : [])).sort()
  world.tokens = [one!, two!, two!]
  report.start()
  await until(async () => (await reported()).length > 0, 'the report')
  expect(await reported()).toEqual(expected(one, two))
  world.tokens = [one!, three!]
  await until(async () => (await reported()).includes(fingerprintOf(three!)), 'the next report')
  expect(await reported()).toEqual(expected(one, three))
  expect(JSON.stringify(await reports.all())).not.toContain('token-')
  await report.stop()
  expect(await reported()).toEqual([])
})

it("ignores a killed daemon's token report after 30 s, and deletes it when a daemon starts a day later", async () => {
  const { world, reports, report, reported } = openWorld()
  await reports.put({ daemon: 'killed', fingerprints: ['f'], at: world.now })
  expect(await reported()).toEqual(['f'])
  world.now += 30_000
  expect(await reported()).toEqual([])
  world.now += 86_400_000
  world.tokens = [new Secret('token-one')]
  report.start()
  await until(async () => (await reported()).length > 0, 'the report')
  expect((await reports.all()).map(({ daemon }) => daemon)).not.toContain('killed')
  await report.stop()
})

it('does not treat an unreadable rotation journal as missing', async () => {
  const file = path.join(temporaryFolder(), 'pipespan.db')
  const store = closeAfterTest(openSqlite(file, { maxSize: 2 ** 30, now: () => Date.now() }))
  const instance = 'https://observability.example.com'
  await store.repositories.of(journals).put({ version: 1, revision: 0, target: 'x', instance, older: [] })
  expect(await rotationStore(store.repositories).journals()).toHaveLength(1)
  const database = new DatabaseSync(file)
  database.exec("UPDATE key_value SET value = substr(value, 1, 10) WHERE name = 'rotation/journal x'")
  database.close()
  await expect(rotationStore(store.repositories).journals()).rejects.toThrow(
    /rotation\/journal x" is damaged.*delete the row/,
  )
})
