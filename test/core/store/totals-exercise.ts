// Tests the running totals of a store. The tests run on both databases.
import { beforeEach, describe, expect, it } from 'vitest'
import { documentOf } from '../../../src/core/store/sql/stored-json.ts'
import { closeAfterTest } from '../../support/after-test.ts'
import { mergeObservations } from '../../../src/core/take-in/merge-observations.ts'
import { event, instance, job, at, rules } from '../../flow/world.ts'
import type { Bench } from './benches.ts'
import type { ActiveJob, Amount, Increment, ProjectIncrements } from '../../../src/model/totals.ts'
import type { RunWork } from '../../../src/core/store/ports/runs.ts'
import type { Store } from '../../../src/core/store/ports/store.ts'

const key = { instance, projectId: 3 }

function increments(all: readonly Increment[], more: Partial<ProjectIncrements> = {}): ProjectIncrements {
  return { key, project: { id: 3, path: 'acme/shop' }, profile: 'generic', maxSeries: 100, increments: all, ...more }
}

function runs(by: number, status = 'success', metric = 'runs'): Increment {
  return { metric, attributes: JSON.stringify({ status }), amount: { kind: 'sum', by } }
}

export function totalsExercise(name: string, bench: () => Promise<Bench>): void {
  describe(`totals on ${name}`, () => {
    let here: Bench
    let store: Store

    beforeEach(async () => {
      here = closeAfterTest(await bench())
      store = await here.open()
      await store.runs.transact(
        mergeObservations([event('running', {}, [job(1, 'build', 'running')])], 'webhook', rules),
      )
    })

    function moving(totals: readonly ProjectIncrements[]): RunWork {
      return {
        key: { instance, pipelineId: 7 },
        jobs: 'all',
        decide: known => known && { run: known.run, timing: known.timing, totals },
      }
    }

    async function move(...totals: ProjectIncrements[]): Promise<void> {
      await store.runs.transact([moving(totals)])
    }

    async function amounts(projectId = 3): Promise<[string, Amount][]> {
      const { projects } = await store.totals.read(100)
      const series = projects.find(project => project.key.projectId === projectId)?.series ?? []
      return series.map(({ metric, attributes, amount }) => [`${metric} ${attributes}`, amount])
    }

    it('adds up totals across batches and restarts, and keeps their start time', async () => {
      const begun = here.now() - 1
      await move(increments([runs(1)]), increments([runs(2), runs(1, 'failed')]))
      here.move(5_000)
      await move(increments([runs(4)]))
      const other = await here.open()
      const { now, projects, next } = await other.totals.read(100)
      await other.close()
      expect([now, next]).toEqual([here.now(), undefined])
      expect(projects).toMatchObject([
        {
          key,
          project: { path: 'acme/shop' },
          profile: 'generic',
          series: [
            { attributes: '{"status":"failed"}', amount: { kind: 'sum', by: 1 }, startedAt: begun },
            { attributes: '{"status":"success"}', amount: { kind: 'sum', by: 7 }, startedAt: begun },
          ],
        },
      ])
    })

    it("merges a project's pending increments into one per series, but keeps increments with a placeholder ref separate, so that they can be counted", async () => {
      const folded = { ...runs(1, 'other'), folded: true as const }
      const elsewhere = { key: { instance, projectId: 4 }, project: { id: 4 } }
      await move(increments([runs(1), folded]), increments([runs(8)], elsewhere), increments([runs(2), folded]))
      const [row = {}] = await store.on(async sql => sql.all('SELECT content FROM totals_added'))
      expect(documentOf(row.content as Uint8Array)).toEqual([
        increments([runs(3), folded, folded]),
        increments([runs(8)], elsewhere),
      ])
      expect(await amounts()).toEqual([
        ['runs {"status":"other"}', { kind: 'sum', by: 2 }],
        ['runs {"status":"success"}', { kind: 'sum', by: 3 }],
      ])
      expect((await store.counters.all()).get('metrics.folded.refs')).toBe(2)
    })

    it('reads totals metric by metric, a few series at a time, without splitting a project', async () => {
      const ofProject = (id: number, metric: string, count: number): ProjectIncrements => ({
        ...increments(Array.from({ length: count }, (_, at) => runs(1, `status ${at}`, metric))),
        ...{ key: { instance, projectId: id }, project: { id, path: `acme/${id}` } },
      })
      await move(...[1, 2, 3, 4, 5].map(id => ofProject(id, 'runs', id)), ofProject(2, 'other', 3))
      expect(await store.totals.metrics()).toEqual(['other', 'runs'])
      const pagesOf = async (metric: string, limit: number): Promise<[number, number][][]> => {
        const pages: [number, number][][] = []
        let from: number | undefined
        do {
          const { projects, next } = await store.totals.ofMetric(metric, limit, from)
          expect(projects.flatMap(({ series }) => series).every(one => one.metric === metric)).toBe(true)
          pages.push(projects.map(project => [project.key.projectId, project.series.length]))
          from = next
        } while (from !== undefined)
        return pages.filter(page => page.length > 0)
      }
      const all = [
        [1, 1],
        [2, 2],
        [3, 3],
        [4, 4],
        [5, 5],
      ]
      expect(await pagesOf('runs', 100)).toEqual([all])
      expect(await pagesOf('runs', 3)).toEqual([all.slice(0, 2), all.slice(2, 3), all.slice(3, 4), all.slice(4)])
      expect(await pagesOf('runs', 1)).toEqual(all.map(one => [one]))
      expect(await pagesOf('other', 2)).toEqual([[[2, 3]]])
      expect(await pagesOf('unknown', 2)).toEqual([])
    })

    it('keeps totals complete after any number of additions, whichever replica folds them and however many do so at once', async () => {
      const other = await here.open()
      const additions = 100
      for (let n = 0; n < additions; n += 1) {
        await move(increments([runs(1), runs(2, 'failed')]))
        if (n % 30 === 0) await Promise.all([store.totals.fold(), other.totals.fold(), store.totals.fold()])
      }
      const both = await Promise.all([amounts(), other.totals.read(100), amounts()])
      await other.close()
      const all = [
        ['runs {"status":"failed"}', { kind: 'sum', by: 2 * additions }],
        ['runs {"status":"success"}', { kind: 'sum', by: additions }],
      ]
      expect(await amounts()).toEqual(all)
      expect(both[0]).toEqual(all)
    })

    it('keeps the gauge value with the latest time, adds up histograms, and restarts a histogram if its bounds change', async () => {
      const value = (number: number, seconds: number): Increment => ({
        metric: 'latest',
        attributes: '{}',
        amount: { kind: 'last', value: number, at: at(seconds) },
      })
      const histogram = (bounds: number[], counts: number[], sum: number): Increment => ({
        metric: 'duration',
        attributes: '{}',
        amount: { kind: 'histogram', bounds, counts, sum },
      })
      await move(increments([value(1, 10), value(2, 20), histogram([1, 5], [1, 0, 2], 20.5)]))
      await move(increments([value(3, 5), histogram([1, 5], [0, 3, 0], 9)]))
      await move(increments([histogram([2], [1, 0], 1)]))
      expect((await amounts()).map(([, amount]) => amount)).toEqual(
        expect.arrayContaining([
          { kind: 'histogram', bounds: [1, 5], counts: [1, 3, 2], sum: 29.5 },
          { kind: 'histogram', bounds: [2], counts: [1, 0], sum: 1 },
          { kind: 'last', value: 2, at: at(20) },
        ]),
      )
    })

    it('limits the series per metric: further series share the overflow series, and are counted', async () => {
      const limited = { maxSeries: 3 }
      await move(
        increments(
          ['a', 'b', 'c', 'd'].map(status => runs(1, status)),
          limited,
        ),
      )
      await move(increments([runs(1, 'a'), runs(1, 'e'), runs(1, 'x', 'other')], limited))
      expect(await amounts()).toEqual([
        ['other {"status":"x"}', { kind: 'sum', by: 1 }],
        ['runs {"otel.metric.overflow":true}', { kind: 'sum', by: 3 }],
        ['runs {"status":"a"}', { kind: 'sum', by: 2 }],
        ['runs {"status":"b"}', { kind: 'sum', by: 1 }],
      ])
      await move(increments([{ ...runs(1, 'a'), folded: true }], limited))
      await store.totals.fold()
      expect(Object.fromEntries(await store.counters.all())).toMatchObject({
        'metrics.folded.series': 3,
        'metrics.folded.refs': 1,
      })
    })

    it('limits the number of names per project: further names share `*`, and are counted', async () => {
      const named = (value: string, result = 'success'): Increment => ({
        metric: 'jobs',
        attributes: JSON.stringify({ name: value, result }),
        amount: { kind: 'sum', by: 1 },
        limited: { attribute: 'name', value, max: 2 },
      })
      await move(increments([named('a'), named('b'), named('c'), named('d')]))
      await store.totals.fold()
      const replica = await here.open()
      await replica.close()
      await move(increments([named('b', 'failure'), named('c'), named('e', 'failure')]))
      expect(await amounts()).toEqual([
        ['jobs {"name":"*","result":"failure"}', { kind: 'sum', by: 1 }],
        ['jobs {"name":"*","result":"success"}', { kind: 'sum', by: 3 }],
        ['jobs {"name":"a","result":"success"}', { kind: 'sum', by: 1 }],
        ['jobs {"name":"b","result":"failure"}', { kind: 'sum', by: 1 }],
        ['jobs {"name":"b","result":"success"}', { kind: 'sum', by: 1 }],
      ])
      const counters = Object.fromEntries(await store.counters.all())
      expect(counters).toMatchObject({ 'metrics.folded.names': 4 })
      const other = increments([named('x')], { key: { instance, projectId: 4 }, project: { id: 4, path: 'acme/till' } })
      await move(other)
      expect(await amounts(4)).toEqual([['jobs {"name":"x","result":"success"}', { kind: 'sum', by: 1 }]])
    })

    it('accepts attributes of any length and with any characters', async () => {
      const odd: Increment = {
        metric: 'runs',
        attributes: JSON.stringify({ ref: `${'long/'.repeat(2_000)}\u0000é` }),
        amount: { kind: 'sum', by: 1 },
      }
      await move(increments([odd]))
      await move(increments([odd]))
      expect(await amounts()).toEqual([[`runs ${odd.attributes}`, { kind: 'sum', by: 2 }]])
    })

    it('returns totals in pages, each project once and under its latest name', async () => {
      const of = (projectId: number, path: string): ProjectIncrements =>
        increments([runs(1)], { key: { instance, projectId }, project: { id: projectId, path } })
      await move(of(3, 'acme/shop'), of(4, 'acme/till'), of(5, 'acme/stock'))
      await move(of(3, 'acme/store'))
      const paths: (string | undefined)[] = []
      let from: number | undefined
      do {
        const page = await store.totals.read(2, from)
        paths.push(...page.projects.map(({ project }) => project.path))
        from = page.next
      } while (from !== undefined)
      expect(paths.sort()).toEqual(['acme/stock', 'acme/store', 'acme/till'])
    })

    it('counts active runs by name and status, excluding ended and blocked ones', async () => {
      const observed = [
        event('running', {}, [], { name: 'Deploy' }, 8),
        event('running', {}, [], { name: 'Deploy' }, 9),
        event('pending', {}, [], { name: 'Half \ud800 a letter' }, 10),
        event('success', { finishedAt: at(9) }, [], {}, 11),
        event('manual', {}, [], {}, 12),
      ]
      await store.runs.transact(mergeObservations(observed, 'webhook', rules))
      const rest: RunWork = {
        key: { instance, pipelineId: 12 },
        jobs: 'all',
        decide: known => (known === undefined ? undefined : { run: known.run, jobs: [], timing: { changedAt: 0 } }),
      }
      await store.runs.transact([rest])
      const reported = (await store.totals.active()).map(({ name, status, count }) => [name, status, count])
      expect(reported).toHaveLength(3)
      expect(reported).toEqual(
        expect.arrayContaining([
          [undefined, 'running', 1],
          ['Deploy', 'running', 2],
          [expect.stringMatching(/^Half/), 'pending', 1],
        ]),
      )
    })

    it('lists the jobs of active runs that are waiting for a runner or occupying one', async () => {
      const runner = { id: 5, type: 'group_type', tags: ['gpu', 'linux'] }
      const jobs = [
        job(8, 'build', 'success', { started: 1, finished: 2 }),
        job(2, 'says "status":"pending"', 'created'),
        job(3, 'test', 'pending', { created: 0 }, { tags: ['gpu'], queuedDuration: 2 }),
        job(4, 'lint', 'running', { started: 3 }, { runner }),
        job(5, 'deploy', 'manual'),
        job(6, 'child', 'pending', {}, { kind: 'bridge' }),
      ]
      const observed = [
        event('running', {}, jobs, {}, 8),
        event('success', { finishedAt: at(9) }, [job(7, 'test', 'pending')], {}, 9),
      ]
      const work = mergeObservations(observed, 'webhook', rules)
      await store.runs.transact(work)
      const found: ActiveJob[] = []
      // Job 1 belongs to the run with which every test begins.
      await store.totals.activeJobs(page => found.push(...page.filter(({ id }) => id !== 1)))
      expect(found.map(({ id, state, workerType, tags }) => [id, state, workerType, tags])).toEqual([
        [3, 'pending', undefined, ['gpu']],
        [4, 'running', 'group_type', ['gpu', 'linux']],
      ])
      expect(found[0]?.pendingSince).toBeGreaterThanOrEqual(at(0))
      expect(found[1]?.pendingSince).toBeUndefined()
    })
  })
}
