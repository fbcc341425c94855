// Many at once: few transactions, an answer for each, and only after the commit.
import path from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { closeAfterTest, temporaryFolder } from '../support/after-test.ts'
import { createPutBatch } from '../../src/ingress/group-commit.ts'
import type { Delivery, Inbox } from '../../src/store/ports/inbox.ts'
import { openSqlite } from '../../src/store/sqlite/open-sqlite.ts'
import { exchange } from '../web/raw-exchange.ts'
import { runIngress, token } from './running-ingress.ts'

/** A transaction waits some ms for more deliveries. On a machine that is busy with other things these may pass in one turn of the event loop. */
function whileNoTimePasses(): void {
  vi.useFakeTimers({ toFake: ['performance'] })
  onTestFinished(() => void vi.useRealTimers())
}

test('commits 500 simultaneous deliveries in few transactions and answers all, on a file', async () => {
  const folder = temporaryFolder()
  const store = openSqlite(path.join(folder, 'inbox.db'), { now: Date.now, maxSize: 2 ** 30 })
  const { inbox, sizes } = counting(store.inbox)
  whileNoTimePasses()
  const { post, ingress, woken } = await runIngress({ store, inbox })
  const answers = await Promise.all(
    Array.from({ length: 500 }, (_, i) =>
      post(`{"object_kind":"pipeline","n":${i}}`, { 'x-service-token': token, 'idempotency-key': `k${i}` }),
    ),
  )
  expect(answers.every(({ status }) => status === 202)).toBe(true)
  expect(ingress.counts.accepted).toBe(500)
  expect((await store.inbox.state()).waiting).toBe(500)
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(500)
  // Five rounds at least, with one hundred connections, and some more where these come by slowly.
  expect(sizes.length).toBeLessThan(150)
  expect(woken()).toBe(sizes.length)
})

test('commits deliveries of separate connections in shared transactions', async () => {
  const store = openSqlite(':memory:', { now: Date.now, maxSize: 2 ** 30 })
  const { inbox, sizes } = counting(store.inbox)
  whileNoTimePasses()
  const { port, ingress } = await runIngress({ store, inbox })
  const head = `POST /webhooks HTTP/1.1\r\nHost: a\r\nConnection: close\r\nX-Service-Token: ${token}\r\n`
  const answers = await Promise.all(
    Array.from({ length: 200 }, () =>
      exchange(port, `${head}Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}`),
    ),
  )
  expect(answers.every(answer => answer.startsWith('HTTP/1.1 202 '))).toBe(true)
  expect(ingress.counts.accepted).toBe(200)
  expect(sizes.length).toBeLessThan(100)
})

test('commits deliveries that arrive during a transaction together in the next, within limits', async () => {
  const store = closeAfterTest(openSqlite(':memory:', { now: Date.now, maxSize: 2 ** 30 }))
  const { inbox, sizes } = counting(store.inbox)
  let late: Promise<unknown> | undefined
  const slowOnce: Pick<Inbox, 'put'> = {
    put: async deliveries => {
      late ??= Promise.all(Array.from('bcdefgh').map(key => batch.put(delivery(key, 10))))
      return inbox.put(deliveries)
    },
  }
  const batch = createPutBatch(slowOnce, { maxItems: 3, maxBytes: 25, onAccepted: () => undefined })
  expect(await batch.put(delivery('a', 100))).toBe('accepted')
  await late
  expect(sizes).toEqual([1, 2, 2, 2, 1])
  await Promise.all(Array.from('ijkl').map(key => batch.put(delivery(key, 2))))
  expect(sizes.slice(5)).toEqual([3, 1])
})

test('refuses only the deliveries of a failed transaction', async () => {
  const store = closeAfterTest(openSqlite(':memory:', { now: Date.now, maxSize: 2 ** 30 }))
  let broken = true
  const batch = createPutBatch(
    { put: async deliveries => (broken ? Promise.reject(new Error('disk')) : store.inbox.put(deliveries)) },
    { maxItems: 10, maxBytes: 1_000, onAccepted: () => undefined },
  )
  const failed = await Promise.allSettled([batch.put(delivery('a', 1)), batch.put(delivery('b', 1))])
  expect(failed.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  broken = false
  expect(await batch.put(delivery('a', 1))).toBe('accepted')
})

function delivery(key: string, size: number): Delivery {
  return { key, event: 'Pipeline Hook', source: 'webhook', body: Buffer.alloc(size) }
}

/** The real inbox, and how many deliveries each transaction held. */
function counting(real: Inbox): { inbox: Pick<Inbox, 'put'>; sizes: number[] } {
  const sizes: number[] = []
  return {
    sizes,
    inbox: {
      put: deliveries => {
        sizes.push(deliveries.length)
        return real.put(deliveries)
      },
    },
  }
}
