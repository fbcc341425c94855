// Tests what commands that list entries of the store say if they do not list all.
import path from 'node:path'
import { expect, it } from 'vitest'
import { closeAfterTest, temporaryFolder } from '../support/after-test.ts'
import { failed, observe, settle, snapshotWork } from '../core/store/exported-run.ts'
import { openSqlite } from '../support/stores.ts'
import { runCommand } from '../e2e/run-command.ts'
import type { Undecodable } from '../../src/core/store/ports/quarantine.ts'

const undecodable: Undecodable = {
  event: 'Pipeline Hook',
  source: 'webhook',
  receivedAt: Date.now(),
  body: Buffer.from('{}'),
  reason: 'no project',
  version: '1',
}

it('lists the newest entries up to the limit, and says on standard error how many there are', async () => {
  const file = path.join(temporaryFolder(), 'pipespan.db')
  const store = closeAfterTest(openSqlite(file, { now: () => Date.now(), maxSize: 2 ** 30 }))
  await store.runs.takeIn({ keys: [undefined], plan: () => ({ work: [], undecodable: [undecodable, undecodable] }) })
  for (const id of [1, 2]) {
    await observe(store, failed(id))
    await store.runs.transact([snapshotWork(id)])
  }
  await settle(store, 'rejected')
  const env = { PIPESPAN_WEBHOOK_TOKEN: 'x', PIPESPAN_STORE_URL: `sqlite:${file}` }
  const cut = 'Listed: the newest 1 of 2. List more with `--limit 2`.\n'

  const inbox = await runCommand(['inbox', 'list', '--limit', '1'], env)
  expect(inbox).toMatchObject({ code: 0, stderr: cut })
  expect(inbox.stdout).toMatch(/^2 could not be decoded/)
  for (const name of ['inbox', 'dead-letters']) {
    const short = await runCommand([name, 'list', '--json', '--limit', '1'], env)
    expect(short).toMatchObject({ code: 0, stderr: cut })
    expect(short.stdout.match(/"id":\d+/g)).toEqual(['"id":2'])
    expect(await runCommand([name, 'list'], env)).toMatchObject({ code: 0, stderr: '' })
  }
})
