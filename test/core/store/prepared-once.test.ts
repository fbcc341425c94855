// On SQLite, each statement is prepared once rather than on every run, because preparing it takes longer than running it.
import { constants, DatabaseSync } from 'node:sqlite'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { closeAfterTest } from '../../support/after-test.ts'
import { event, at, job, rules } from '../../flow/world.ts'
import { takeKeys } from './taking-in-exercise.ts'
import { mergeObservations } from '../../../src/core/take-in/merge-observations.ts'
import { sqliteBench } from './benches.ts'
import type { Store } from '../../../src/core/store/ports/store.ts'

const { SQLITE_SELECT, SQLITE_INSERT, SQLITE_UPDATE, SQLITE_DELETE, SQLITE_OK } = constants
const verbs = new Set([SQLITE_SELECT, SQLITE_INSERT, SQLITE_UPDATE, SQLITE_DELETE])
const queue = { destination: 'default', signal: 'traces' as const }

/** Runs the statements that a daemon runs repeatedly, with different numbers of rows. */
async function work(store: Store, round: number): Promise<void> {
  await takeKeys(store, ...Array.from({ length: round }, (_, index) => `delivery ${round}.${index}`))
  await store.runs.transact(
    mergeObservations([event('running', {}, [job(1, 'build', 'running', { started: round })])], 'webhook', rules),
  )
  await store.runs.takeDue(10 + round, 1_000)
  await store.runs.dueIn()
  const { token } = await store.outbox.lease(queue, 10 + round, 1_000)
  await store.outbox.settle(token, [])
  await store.outbox.dueIn(queue)
  await store.pruning.runs(at(0), 10 + round, undefined)
  await store.pruning.tombstones(at(0), 10 + round)
}

describe('a statement on SQLite', () => {
  it('is prepared only once, even if it runs again with different values or limits', async () => {
    const bench = closeAfterTest(await sqliteBench())
    let connection: DatabaseSync | undefined
    // eslint-disable-next-line @typescript-eslint/unbound-method -- it is called with the connection
    const { prepare } = DatabaseSync.prototype
    const spy = vi.spyOn(DatabaseSync.prototype, 'prepare').mockImplementation(function (this: DatabaseSync, sql) {
      // eslint-disable-next-line @typescript-eslint/no-this-alias -- the store does not show its connection
      connection = this
      return prepare.call(this, sql)
    })
    onTestFinished(() => spy.mockRestore())
    const store = await bench.open()
    await work(store, 1)
    let prepared = 0
    connection!.setAuthorizer(code => {
      if (verbs.has(code)) prepared += 1
      return SQLITE_OK
    })
    // SQLite prepares every statement again after an authorizer was set.
    await work(store, 2)
    expect(prepared).toBeGreaterThan(10)
    prepared = 0
    await work(store, 3)
    expect(prepared).toBe(0)
  })
})
