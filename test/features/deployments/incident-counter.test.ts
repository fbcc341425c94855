// Tests the counting of incidents. Each opening and each duration is counted once, whatever the order and number of reports. Incidents that no
// webhook reports are found by polling the platform.
import { beforeEach, describe, expect, it } from 'vitest'
import { incidents as storedIncidents, incidentReporter } from '../../../src/features/deployments/sql/incidents.ts'
import { countIn, countingOn, report as reportAll } from './reported.ts'
import { closeAfterTest } from '../../support/after-test.ts'
import { createErrorThrottle } from '../../../src/platform/rest/error-throttle.ts'
import { countedIncidents, createOnceCounter, type IncidentMeasure } from '../../../src/features/deployments/counter.ts'
import type { Counter } from '../../../src/features/deployments/counter.ts'
import { createIncidentPoller, incidentCursors } from '../../../src/features/deployments/incident-poller.ts'
import { day, hour, instance, minute, t0 } from '../../flow/world.ts'
import { incidentOfEvent } from '../../../src/features/deployments/line-step.ts'
import { isFull } from '../../full.ts'
import { PlatformError, type ListedIncident } from '../../../src/platform/port.ts'
import { bothDatabases, type BareBench } from '../../core/store/benches.ts'
import { Random } from '../../../src/simulator/platform/random.ts'
import { reportedIncident, viewIncident } from '../../../src/features/deployments/model/incident.ts'
import type { Incident, ReportedIssue } from '../../../src/features/deployments/model/incident.ts'
import { silentLog } from '../../../src/lib/log.ts'
import type { PlatformEvent } from '../../../src/model/event.ts'
import type { Store } from '../../../src/core/store/ports/store.ts'

const project = { id: 3, name: 'shop', path: 'acme/shop' }

/** The facts of a simulated incident. `closedAt` is undefined while it is open. */
interface Truth {
  readonly iid: number
  readonly severity: string
  readonly openedAt: number
  readonly closedAt?: number
}

const issue = (
  truth: Truth,
  state: 'opened' | 'closed' | 'retyped',
  at: number,
  more: Partial<ReportedIssue> = {},
): Incident =>
  reportedIncident({
    ...{ instance, project, iid: truth.iid, state, at, severity: truth.severity, openedAt: truth.openedAt },
    ...more,
  })!

describe.each(bothDatabases())('counting incidents on %s', (_name, bench) => {
  let here: BareBench
  let store: Store
  let counter: Counter<IncidentMeasure>
  beforeEach(async () => {
    here = closeAfterTest(await bench())
    store = await here.open()
    counter = create()
  })

  function create(): Counter<IncidentMeasure> {
    return createOnceCounter(countedIncidents, store.on(storedIncidents), {
      ...countingOn({ now: () => here.now() }),
      to: [],
    })
  }

  const report = async (...incidents: readonly Incident[]): Promise<void> =>
    reportAll(store, incidentReporter, incidents, countIn)

  /** Returns, for each severity, how many incidents were opened, how many have ended, and how long they were open in seconds. */
  async function counted(): Promise<Record<string, [opened: number, ended: number, seconds: number]>> {
    const found: Record<string, [number, number, number]> = {}
    const { projects } = await store.totals.read(10)
    for (const { metric, attributes, amount } of projects.flatMap(({ series }) => series)) {
      const { 'platform.issue.severity': severity = '' } = JSON.parse(attributes) as Record<string, string>
      const figures = (found[severity] ??= [0, 0, 0])
      if (metric === 'platform.incident.count' && amount.kind === 'sum') figures[0] += amount.by
      if (metric === 'platform.incident.duration' && amount.kind === 'histogram') {
        figures[1] += amount.counts.reduce((sum, count) => sum + count, 0)
        figures[2] += Math.round(amount.sum)
      }
    }
    return found
  }

  it('counts each incident once even if it is reported twice, in any order, and counted by two replicas', async () => {
    const random = new Random(3)
    const truths = Array.from({ length: isFull ? 2_000 : 40 }, (_, at): Truth => {
      const openedAt = t0 - random.whole(1, 5_000) * minute
      const severity = random.chance(0.5) ? 'high' : 'low'
      return {
        iid: at + 1,
        severity,
        openedAt,
        ...(random.chance(0.7) && { closedAt: openedAt + random.whole(1, 900) * 1_000 }),
      }
    })
    const reported = truths.flatMap(one => {
      const opened = issue(one, 'opened', one.openedAt)
      if (one.closedAt === undefined) return [opened, opened]
      const closed = issue(one, 'closed', one.closedAt, { closedAt: one.closedAt })
      // A later event about the incident does not change its closing time.
      return [opened, opened, closed, closed, issue(one, 'closed', one.closedAt + minute)]
    })
    const shuffled = random.shuffle(reported)
    const half = Math.floor(shuffled.length / 2)
    await report(...shuffled.slice(0, half))
    here.move(minute)
    await Promise.all([report(...shuffled.slice(half)), report(...shuffled.slice(half - 10, half))])
    here.move(countIn)
    await Promise.all([counter.drain(), create().drain()])
    const ended = (severity: string): Truth[] =>
      truths.filter(one => one.severity === severity && one.closedAt !== undefined)
    const truth = (severity: string): number[] => [
      truths.filter(one => one.severity === severity).length,
      ended(severity).length,
      ended(severity).reduce((sum, { openedAt, closedAt = 0 }) => sum + (closedAt - openedAt) / 1_000, 0),
    ]
    expect(await counted()).toEqual({ high: truth('high'), low: truth('low') })
    await report(...shuffled)
    here.move(countIn)
    await counter.drain()
    expect(await counted()).toEqual({ high: truth('high'), low: truth('low') })
    expect((await store.on(storedIncidents).open({ limit: 3_000 })).length).toBe(
      truths.filter(({ closedAt }) => closedAt === undefined).length,
    )
  })

  it('counts the end of an incident once after a grace period, and not again if it is reopened later', async () => {
    const one: Truth = { iid: 7, severity: 'high', openedAt: t0 - hour }
    await report(issue(one, 'opened', one.openedAt))
    here.move(countIn)
    await counter.drain()
    await report(issue(one, 'closed', t0, { closedAt: t0 }), issue(one, 'opened', t0 + 30_000))
    here.move(countIn)
    await counter.drain()
    expect(await counted()).toEqual({ high: [1, 0, 0] })
    await report(issue(one, 'closed', t0 + minute, { closedAt: t0 + minute }))
    here.move(countIn)
    await counter.drain()
    expect(await counted()).toEqual({ high: [1, 1, 3_660] })
    await report(issue(one, 'opened', t0 + hour), issue(one, 'closed', t0 + 2 * hour, { closedAt: t0 + 2 * hour }))
    here.move(countIn)
    await counter.drain()
    expect(await counted()).toEqual({ high: [1, 1, 3_660] })
  })

  it('shows no incident while its issue has another type, and ignores issues that are not incidents', async () => {
    const one: Truth = { iid: 7, severity: 'high', openedAt: t0 - hour }
    const shown = async (): Promise<unknown> => [
      (await store.on(storedIncidents).open({ limit: 10 })).map(({ incident }) => incident.iid),
      (await store.on(storedIncidents).opened({ since: 0, until: t0 + day, limit: 10 })).map(
        ({ incident }) => incident.iid,
      ),
    ]
    await report(issue(one, 'opened', one.openedAt), issue({ ...one, iid: 8 }, 'retyped', t0))
    expect(await shown()).toEqual([[7], [7]])
    await report(issue(one, 'retyped', t0), issue(one, 'opened', one.openedAt))
    expect(await shown()).toEqual([[], []])
    here.move(countIn)
    await counter.drain()
    expect(await counted()).toEqual({ high: [1, 0, 0] })
    await report(issue(one, 'opened', t0 + minute))
    expect(await shown()).toEqual([[7], [7]])
    await report(issue(one, 'closed', t0 + hour, { closedAt: t0 + hour }))
    here.move(countIn)
    await counter.drain()
    expect(await counted()).toEqual({ high: [1, 1, 7_200] })
  })

  it('counts only the end of an incident that was opened long before the first poll', async () => {
    const old: Truth = { iid: 1, severity: 'low', openedAt: t0 - 30 * day }
    const over: Truth = { iid: 2, severity: 'low', openedAt: t0 - 90 * day, closedAt: t0 - 89 * day }
    await report(issue(old, 'opened', t0), issue(over, 'closed', t0, { closedAt: over.closedAt }))
    here.move(countIn)
    await counter.drain()
    await report(issue(old, 'closed', t0 + hour, { closedAt: t0 + hour }))
    here.move(countIn)
    await counter.drain()
    expect(await counted()).toEqual({ low: [0, 1, 30 * 86_400 + 3_600] })
    expect(await store.on(storedIncidents).prune(t0 + day, 10)).toBe(2)
    expect(await store.on(storedIncidents).open({ limit: 10 })).toEqual([])
  })

  it('polls only changed issues, with one request per round, to find incidents that ended without a webhook', async () => {
    const changed = new Map<number, ListedIncident>()
    const change = (iid: number, at: number, closedAt?: number): void => {
      const state = closedAt === undefined ? 'opened' : 'closed'
      changed.set(iid, { instance, project, iid, state, at, severity: 'HIGH', openedAt: t0 - hour, closedAt })
    }
    const asked: number[] = []
    let fail: PlatformError | undefined
    const poller = createIncidentPoller({
      name: 'incidents',
      client: {
        instance,
        incidents: async function* ({ updatedAfter }, { onSend }) {
          const list = [...changed.values()].filter(one => one.at >= updatedAfter).sort((a, b) => a.at - b.at)
          for (let at = 0; at === 0 || at < list.length; at += 100) {
            onSend?.()
            asked.push(updatedAfter)
            if (fail !== undefined) throw fail
            yield { items: list.slice(at, at + 100), ...(at + 100 < list.length && { next: 'next' }) }
          }
        },
      },
      ...{ cursors: store.repositories.of(incidentCursors), leases: store.leases, interval: minute },
      take: async found => report(...found.flatMap(one => reportedIncident(one) ?? [])),
      ...{ errors: createErrorThrottle(silentLog()), log: silentLog() },
      clock: { now: () => here.now(), sleep: async () => undefined },
    })
    await report(issue({ iid: 1, severity: 'high', openedAt: t0 - hour }, 'opened', t0 - hour))
    // More than one page of incidents has the same time, followed by further incidents.
    for (let iid = 1; iid <= 250; iid += 1) change(iid, iid <= 150 ? t0 : t0 + iid * 1_000)
    await poller.round()
    expect(poller.counters.incidentRequests).toBe(asked.length)
    expect(asked.length).toBeLessThanOrEqual(5)
    here.move(countIn)
    await counter.drain()
    expect(await counted()).toEqual({ high: [250, 0, 0] })

    change(1, t0 + 2 * hour, t0 + 2 * hour)
    fail = new PlatformError({ kind: 'unavailable', what: 'It does not answer.', remedy: 'Wait.', status: 503 })
    await poller.round()
    fail = undefined
    await poller.round()
    asked.length = 0
    await poller.round()
    expect(asked).toEqual([t0 + 2 * hour - 5 * minute])
    here.move(countIn)
    await counter.drain()
    expect(await counted()).toEqual({ high: [250, 1, 10_800] })
    const [first] = await store
      .on(storedIncidents)
      .opened({ project: 'acme/shop', since: 0, until: t0 + day, limit: 300 })
    expect(first?.view).toMatchObject({ severity: 'high', openedAt: t0 - hour })
  })

  it('reads 500 pages of an endless list of incidents, and continues in the next round', async () => {
    let iid = 0
    const asked: number[] = []
    const poller = createIncidentPoller({
      name: 'incidents',
      client: {
        instance,
        incidents: async function* ({ updatedAfter }, { onSend }) {
          onSend?.()
          asked.push(updatedAfter)
          yield {
            items: [{ instance, project, iid: (iid += 1), state: 'opened', at: updatedAfter + 1_000 }],
            next: 'next',
          }
        },
      },
      ...{ cursors: store.repositories.of(incidentCursors), leases: store.leases, interval: minute },
      ...{ take: async () => undefined, errors: createErrorThrottle(silentLog()), log: silentLog() },
      clock: { now: () => here.now(), sleep: async () => undefined },
    })
    await poller.round()
    expect(poller.counters.incidentRequests).toBe(500)
    const last = asked.at(-1)!
    await poller.round()
    expect(asked[500]).toBe(last + 1_000 - 5 * minute)
  })
})

it('does not end an incident that is reopened within the grace period', () => {
  const one: Truth = { iid: 7, severity: 'high', openedAt: t0 }
  const closed = issue(one, 'closed', t0 + hour, { closedAt: t0 + hour })
  expect(viewIncident(closed)).toMatchObject({ state: 'closed', closedAt: t0 + hour })
  expect(viewIncident(issue(one, 'opened', t0 + hour)).closedAt).toBeUndefined()
})

it('marks an incident as retyped when an event gives the issue another type, and ignores an issue event without a type', () => {
  const event = (type?: string): PlatformEvent => ({
    ...{ instance, project, kind: 'issue', name: 'platform.issue', at: t0, severity: 'info', body: '' },
    ...{ object: '1', content: '1', key: '1' },
    attributes: {
      ...{ 'platform.issue.id': '7', 'platform.issue.state': 'opened', 'platform.issue.action': 'update' },
      ...(type !== undefined && { 'platform.issue.type': type }),
    },
  })
  const stateOf = (type?: string): unknown => incidentOfEvent(event(type), t0)?.facts.facts.state
  expect([stateOf('Incident'), stateOf('Issue'), stateOf('Task'), stateOf()]).toEqual([
    ...['opened', 'retyped', 'retyped'],
    undefined,
  ])
})
