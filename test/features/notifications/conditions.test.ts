// Tests the conditions that people are notified about, on both databases.
import { chunkOf } from '../../support/of-run.ts'
import { beforeEach, describe, expect, it } from 'vitest'
import { closeAfterTest } from '../../support/after-test.ts'
import { at, day, event, job, minute, rules, second, snapshotterWith } from '../../flow/world.ts'
import { isEvent } from '../../../src/model/event.ts'
import { mergeObservations } from '../../../src/core/take-in/merge-observations.ts'
import { knownConditions } from '../../../src/features/notifications/documents.ts'
import { ofDefaultBranch } from '../../../src/features/notifications/conditions.ts'
import { createNotifier } from '../../../src/features/notifications/notifier.ts'
import { createStandingWatch } from '../../../src/features/notifications/standing-watch.ts'
import { settleRuns } from '../../../src/core/settle/settle-runs.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { bothDatabases, type Bench } from '../../core/store/benches.ts'
import type { Condition } from '../../../src/model/condition.ts'
import type { Observation } from '../../../src/model/observation.ts'
import type { OutboxEntry } from '../../../src/core/store/ports/outbox.ts'
import type { Store } from '../../../src/core/store/ports/store.ts'

const chat = { destination: 'chat', signal: 'notifications' } as const

const traces = { destination: 'default', signal: 'traces' } as const

const notifierSince = (since: number) =>
  createNotifier(
    [{ name: 'chat', of: ['default-branch', 'dead-letters', 'flaky-tests'], since }],
    text => text.replaceAll('hunter2', '[REDACTED]'),
    'generic',
  )

const snapshotterSince = (since: number) =>
  snapshotterWith({
    steps: [{ onSnapshot: chunk => notifierSince(since).reports(ofDefaultBranch(chunk)) }],
  })

describe.each(bothDatabases())('notifications of conditions on %s', (_name, bench) => {
  let here: Bench
  let store: Store
  beforeEach(async () => {
    here = closeAfterTest(await bench())
    store = await here.open()
  })

  const ended = (pipelineId: number, status: string, finished = 60): Observation => {
    const jobs = [job(pipelineId * 10, 'unit hunter2', status, { started: 5, finished: finished - 1 })]
    const one = event(status, { finishedAt: at(finished) }, jobs, {}, pipelineId)
    return { ...one, project: { ...one.project, defaultBranch: 'main' } }
  }

  /** Stores an observed pipeline and takes its snapshot. */
  async function end(observation: Observation, since = 0, of = store): Promise<void> {
    await of.runs.transact(mergeObservations([observation], 'webhook', rules))
    here.move(minute)
    await settleRuns([observation.key], of.runs, snapshotterSince(since))
  }

  async function leased(queue: { destination: string; signal: 'notifications' } = chat) {
    return store.outbox.lease(queue, 100, minute)
  }

  const titles = (items: readonly Pick<OutboxEntry, 'body'>[]): string[] =>
    items.map(chunkOf).map(chunk => (isEvent(chunk) ? chunk.event.body : ''))

  /** Delivers all messages as they become due, and returns their titles. */
  async function delivered(): Promise<string[]> {
    const all: string[] = []
    for (;;) {
      const { token, items } = await leased()
      if (items.length === 0) return all
      all.push(...titles(items))
      await store.outbox.settle(
        token,
        items.map(({ id }) => ({ id, as: 'delivered' as const })),
      )
    }
  }

  const broken = 'acme/shop: main is broken'
  const works = 'acme/shop: main works again'

  it('sends one message when a branch breaks and one when it works again, and none for further failures or successes', async () => {
    await end(ended(7, 'success'))
    await end(ended(8, 'failed'))
    await end(ended(9, 'failed'))
    await end(ended(10, 'canceled'))
    await end(ended(11, 'success'))
    await end(ended(12, 'success'))
    await end(ended(13, 'failed'))
    expect(await delivered()).toEqual([broken, works, broken])
  })

  it('sends the same notifications even after a crash between any two steps', async () => {
    for (const one of [ended(8, 'failed'), ended(9, 'failed'), ended(10, 'success')]) {
      await end(one)
      await store.close()
      store = await here.open()
      await end(one)
    }
    expect(await delivered()).toEqual([broken, works])
  })

  it('sends no notification about an older pipeline that is found late, or about its retry', async () => {
    await end(ended(9, 'success'))
    await end(ended(8, 'failed', 50))
    expect(await delivered()).toEqual([])
    await end(ended(10, 'failed'))
    await end(ended(9, 'success', 120))
    expect(await delivered()).toEqual([broken])
  })

  it('sends no notification about child pipelines, other branches, tags or merge requests', async () => {
    const others = [
      { source: 'parent_pipeline' },
      { ref: 'topic' },
      { tag: true },
      { source: 'merge_request_event', ref: 'refs/merge-requests/5/head' },
    ]
    for (const [index, facts] of others.entries()) {
      const one = ended(20 + index, 'failed')
      const pipeline = one.pipeline!
      await end({ ...one, pipeline: { ...pipeline, facts: { ...pipeline.facts, ...facts } } })
    }
    expect(await delivered()).toEqual([])
  })

  it('ends an incident when a retry of the pipeline that started it succeeds', async () => {
    await end(ended(8, 'failed'))
    const retried = ended(8, 'success', 600)
    const again = job(81, 'unit hunter2', 'success', { created: 500, started: 510, finished: 590 })
    await end({
      ...retried,
      jobs: [...retried.jobs.map(one => ({ ...one, facts: { ...one.facts, status: 'failed' } })), again],
    })
    expect(await delivered()).toEqual([broken, works])
  })

  it('sends no notification about past failures, nor about the end of an unannounced incident', async () => {
    const since = at(3_600)
    await end(ended(8, 'failed'), since)
    await end(ended(9, 'failed', 4_000), since)
    await end(ended(10, 'success', 4_100), since)
    expect(await delivered()).toEqual([])
    await end(ended(11, 'failed', 4_200), since)
    expect(await delivered()).toEqual([broken])
  })

  it('sends the reason for a notification without secrets, with ids that distinguish incidents and messages', async () => {
    await end(ended(8, 'failed'))
    await end(ended(9, 'success'))
    const events = []
    for (let one = await leased(); one.items.length > 0; one = await leased()) {
      events.push(...one.items.map(chunkOf).flatMap(chunk => (isEvent(chunk) ? chunk.event : [])))
      await store.outbox.settle(one.token, [{ id: one.items[0]!.id, as: 'delivered' }])
    }
    const [first, second] = events
    expect(first).toMatchObject({ kind: 'notification', name: 'default_branch.broken', severity: 'error' })
    expect(first?.attributes['notification.text']).toBe('Pipeline 8 failed in unit [REDACTED] after 1 m 00 s.')
    expect(first?.attributes['notification.id']).toBe(`${String(first?.attributes['notification.incident'])}.broken`)
    expect(second?.attributes).toMatchObject({
      'notification.incident': first?.attributes['notification.incident'],
      'notification.since': at(60),
    })
  })

  it('announces the end of an incident after its start, without delaying messages about other incidents', async () => {
    await end(ended(8, 'failed'))
    await end(ended(9, 'success'))
    const other = ended(20, 'failed')
    await end({ ...other, project: { ...other.project, id: 4, path: 'acme/till' } })
    const first = await leased()
    expect(titles(first.items).toSorted()).toEqual([broken, 'acme/till: main is broken'])
    expect((await leased()).items).toEqual([])
    const own = first.items.find(item => titles([item])[0] === broken)!
    await store.outbox.settle(first.token, [
      { id: own.id, as: 'later', forMs: 2 * minute, error: 'HTTP 503', counted: true },
      { id: first.items.find(one => one !== own)!.id, as: 'delivered' },
    ])
    here.move(minute)
    expect((await leased()).items).toEqual([])
    expect(await store.outbox.dueIn(chat)).toBe(minute)
    here.move(minute)
    expect(await delivered()).toEqual([broken, works])
  })

  it('announces the end of an incident even if its first message was permanently rejected', async () => {
    await end(ended(8, 'failed'))
    await end(ended(9, 'success'))
    const { token, items } = await leased()
    await store.outbox.settle(token, [{ id: items[0]!.id, as: 'rejected', status: 400, error: 'no' }])
    expect(await delivered()).toEqual([works])
    expect(await store.outbox.deadLetters(10)).toMatchObject([
      { destination: 'chat', event: 'notification', error: 'no' },
    ])
  })

  it('sends one message if several replicas settle pipelines of the same branch concurrently', async () => {
    const replicas = [store, await here.open(), await here.open()]
    const ids = Array.from({ length: 24 }, (_, index) => index + 1)
    await Promise.all(ids.map(async id => end(ended(id, 'failed'), 0, replicas[id % replicas.length])))
    await Promise.all(ids.map(async id => end(ended(id + 100, 'success'), 0, replicas[id % replicas.length])))
    await Promise.all(replicas.slice(1).map(async one => one.close()))
    expect(await delivered()).toEqual([broken, works])
  })

  it('sends one message per subject of a condition that never ends, however often the subject is reported', async () => {
    const flaky = (test: string, time: number): Condition => ({
      ...{ kind: 'flaky-tests', instance: 'https://git.example.com', project: { id: 3, path: 'acme/shop' } },
      ...{ subject: test, state: 'broken', version: [time], at: time, title: `test ${test} is flaky` },
    })
    const rounds = [
      ['adds', 'pays'],
      ['pays', 'ships'],
    ]
    for (const [index, tests] of rounds.entries()) {
      const reports = notifierSince(0).reports(...tests.map(test => flaky(test, at(50 + index))))
      await store.runs.transact([], { reports })
      await store.runs.transact([], { reports })
    }
    expect((await delivered()).toSorted()).toEqual(['adds', 'pays', 'ships'].map(one => `test ${one} is flaky`))
  })

  it('announces the first and the last dead letter once, although several replicas check for dead letters', async () => {
    const watch = () =>
      createStandingWatch({
        ...{
          notifier: notifierSince(0),
          runs: store.runs,
          outbox: store.outbox,
          clock: systemClock,
          log: silentLog(),
        },
        ...{
          conditions: store.repositories.of(knownConditions),
          destinations: ['default', 'chat'],
          onMessage: () => undefined,
        },
        lease: { isMine: async () => true, release: async () => undefined },
      })
    const looked = async (): Promise<void> => {
      await Promise.all([watch().checkAll(), watch().checkAll()])
    }
    await looked()
    await end(ended(8, 'success'))
    const { token, items } = await store.outbox.lease(traces, 100, minute)
    await store.outbox.settle(token, [{ id: items[0]!.id, as: 'rejected', status: 400, error: 'no' }])
    here.move(second)
    await looked()
    here.move(second)
    await looked()
    expect(await delivered()).toEqual(['Destination default refused an export for good'])
    await store.outbox.dropDead('all')
    here.move(second)
    await looked()
    expect(await delivered()).toEqual(['Destination default no longer has refused exports'])
    // A rule's destination is not notified of messages that it rejected, because it would reject that notification too.
    await end(ended(9, 'failed'))
    const refused = await leased()
    await store.outbox.settle(refused.token, [{ id: refused.items[0]!.id, as: 'rejected', status: 400, error: 'no' }])
    here.move(second)
    await looked()
    expect(await delivered()).toEqual([])
  })

  it('deletes a condition some time after its last report', async () => {
    await end(ended(8, 'failed'))
    await store.repositories.of(knownConditions).prune(({ changedAt }, now) => now - changedAt > 100 * day)
    expect(await store.repositories.of(knownConditions).all()).toHaveLength(1)
    here.move(101 * day)
    await store.repositories.of(knownConditions).prune(({ changedAt }, now) => now - changedAt > 100 * day)
    expect(await store.repositories.of(knownConditions).all()).toEqual([])
  })
})
