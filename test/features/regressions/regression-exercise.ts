// What every store promises of regressions, as one function: run against each database.
import { countFigures } from '../../support/counted-figures.ts'
import { beforeEach, describe, expect, it } from 'vitest'
import { closeAfterTest } from '../../support/after-test.ts'
import { at, event, everything, job, rules } from '../../flow/world.ts'
import { contents } from '../../store/filled.ts'
import { snapshotWork } from '../../store/exported-run.ts'
import { foundRegressions } from '../../../src/features/regressions/documents.ts'
import { judgeOf, previewIn, without } from './judge.ts'
import type { Judge } from '../../../src/features/regressions/judge-loop.ts'
import { day } from '../../../src/features/regressions/rule.ts'
import { isEvent, type AnyChunk, type EventChunk } from '../../../src/model/event.ts'
import { mergeObservations } from '../../../src/core/take-in/merge-observations.ts'
import { announcing, type Announcement } from '../../../src/features/regressions/announce.ts'
import type { Bench } from '../../store/benches.ts'
import type { Scope } from '../../../src/core/store/ports/scope.ts'
import type { Store } from '../../../src/core/store/ports/store.ts'
import type { Condition } from '../../../src/model/condition.ts'

interface Played {
  readonly fromDay: number
  readonly toDay: number
  /** Seconds. */
  readonly e2e: number
  readonly fails?: boolean
}

const perDay = 6
const to = [{ destination: 'default', signal: 'logs' as const }]

export function regressionExercise(name: string, bench: () => Promise<Bench>): void {
  describe(`regressions on ${name}`, () => {
    let here: Bench
    let store: Store
    /** What people may be notified about: each report once. */
    let told: Map<string, Condition>

    beforeEach(async () => {
      here = closeAfterTest(await bench())
      store = await here.open()
      told = new Map()
    })

    /** Days from the beginning of the bench's time, negative ones before it. */
    async function play({ fromDay, toDay, e2e, fails = false }: Played): Promise<void> {
      const observed = []
      for (let run = fromDay * perDay; run < toDay * perDay; run += 1) {
        const id = 10_000 + run
        const start = (run * day) / perDay / 1_000
        const end = start + 60 + e2e
        const facts = {
          ...{ ref: 'main', sha: String(id).padStart(40, 'a'), user: { id: 1, username: 'alice' } },
          ...(fails && { status: 'failed' as const }),
        }
        const jobs = [
          job(id * 10, 'build', 'success', { created: start, started: start, finished: start + 60 }),
          job(
            id * 10 + 1,
            'e2e',
            fails ? 'failed' : 'success',
            { created: start, started: start + 60, finished: end },
            fails ? { failureReason: 'runner_system_failure' } : {},
          ),
        ]
        const observation = event(
          fails ? 'failed' : 'success',
          { createdAt: at(start), finishedAt: at(end) },
          jobs,
          facts,
          id,
        )
        observed.push({ ...observation, project: { ...observation.project, defaultBranch: 'main' } })
      }
      await store.runs.transact(mergeObservations(observed, 'webhook', rules))
      await store.runs.transact(observed.map(({ key }) => snapshotWork(key.pipelineId, chunk => ({ chunk, to: [] }))))
      await countFigures(store)
    }

    function judge(of: Store = store, take = takes(of)): Judge {
      return judgeOf(of, { take })
    }

    function takes(of: Store): (found: readonly Announcement[]) => Promise<void> {
      const taking = { runs: of.runs, selection: everything, now: () => here.now() }
      const eventRules = { to, profile: 'generic', wait: 0, onTaken: () => undefined }
      const reports = (...conditions: readonly (Condition | undefined)[]) => {
        for (const one of conditions) if (one !== undefined) told.set(`${one.subject} ${one.state}`, one)
        return []
      }
      return announcing({ ...taking, rules: eventRules }, { reports }, true)
    }

    async function events(): Promise<EventChunk[]> {
      const { chunks = [] } = (await contents(store.tables)) as { chunks?: readonly { content: string }[] }
      return chunks.map(({ content }) => JSON.parse(content) as AnyChunk).filter(isEvent)
    }

    it('are flagged once with the first bad run, through two replicas and restarts, and resolved once', async () => {
      await play({ fromDay: -16, toDay: -3, e2e: 300 })
      await play({ fromDay: -3, toDay: 0, e2e: 700 })
      const other = await here.open()
      await Promise.all([judge().judgeAll(), judge(other).judgeAll()])
      await judge().judgeAll()
      const [found, ...more] = await store.repositories.of(foundRegressions).all()
      expect(more).toEqual([])
      expect(found).toMatchObject({
        ...{ kind: 'slower', branch: 'default', job: 'e2e', also: [], after: 700_000 },
        first: { pipelineId: 10_000 - 3 * perDay, user: 'alice' },
        cause: `It began with commit ${'a'.repeat(8)} by alice.`,
        announced: { detected: true, resolved: false },
      })
      expect(found!.before / 300_000).toBeCloseTo(1, 1)
      here.move(3 * day)
      await play({ fromDay: 0, toDay: 3, e2e: 300 })
      await Promise.all([judge().judgeAll(), judge(other).judgeAll()])
      await judge().judgeAll()
      await other.close()
      expect((await store.repositories.of(foundRegressions).all()).map(({ resolved }) => resolved?.how)).toEqual([
        'recovered',
      ])
      const sent = await events()
      expect(sent.map(({ event: { name, severity } }) => [name, severity])).toEqual([
        ['platform.cicd.regression.detected', 'warn'],
        ['platform.cicd.regression.resolved', 'info'],
      ])
      expect([...told.values()].map(({ state, title }) => [state, title])).toEqual([
        ['broken', expect.stringMatching(/^acme\/shop: Job e2e takes 11 m 40 s, before/)],
        ['fixed', expect.stringMatching(/^acme\/shop: Job e2e is as fast as before again/)],
      ])
      expect(sent.map(one => one.job?.jobId)).toEqual([found!.first.jobId, found!.first.jobId])
      expect(sent[0]?.event.attributes).toMatchObject({
        'cicd.pipeline.task.name': 'e2e',
        'cicd.pipeline.run.id': String(10_000 - 3 * perDay),
        'platform.cicd.regression.duration.after': 700_000,
      })
    })

    it('are exported once if the process crashes between writing and sending', async () => {
      await play({ fromDay: -16, toDay: -2, e2e: 300 })
      await play({ fromDay: -2, toDay: 0, e2e: 300, fails: true })
      const dies = async (): Promise<never> => Promise.reject(new Error('killed'))
      await expect(judge(store, dies).judgeAll()).rejects.toThrow('killed')
      await judge().judgeAll()
      const late = async (some: readonly Announcement[]): Promise<never> => {
        await takes(store)(some)
        throw new Error('killed later')
      }
      const [found] = await store.repositories.of(foundRegressions).all()
      await store.repositories.of(foundRegressions).put({ ...found!, announced: { detected: false, resolved: false } })
      await expect(judge(store, late).judgeAll()).rejects.toThrow('killed later')
      await judge().judgeAll()
      expect((await events()).map(one => one.event.name)).toEqual(['platform.cicd.regression.detected'])
      expect([...told.values()].map(({ state }) => state)).toEqual(['broken'])
      expect(found).toMatchObject({ kind: 'failing', job: 'e2e', after: 1 })
      expect(found?.cause).toContain('fail with runner_system_failure')
    })

    it('are judged in what a scope sees, and in nothing else', async () => {
      await play({ fromDay: -16, toDay: -3, e2e: 300 })
      await play({ fromDay: -3, toDay: 0, e2e: 700 })
      const found = async (sees: Scope['sees']) =>
        (await previewIn(store, 3, here.now(), { bounds: 'hidden', sees })).found
      expect(await found(({ path }) => path === 'acme/shop')).toHaveLength(1)
      expect(await found(({ path }) => path !== 'acme/shop')).toEqual([])
    })

    it('are not found in constant figures, without reading runs', async () => {
      await play({ fromDay: -16, toDay: 0, e2e: 300 })
      await judge(without('newest', store)).judgeAll()
      expect(await store.repositories.of(foundRegressions).all()).toEqual([])
    })
  })
}
