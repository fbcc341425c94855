// What every store promises of regressions of sections, as one function: run against each database.
import { countedIn, countFigures, counting, pruneFigures } from '../../support/counted-figures.ts'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { at, everything, event, instance, job, rules } from '../../flow/world.ts'
import { everything as all } from '../../../src/core/store/ports/scope.ts'
import { foundRegressions } from '../../../src/features/regressions/documents.ts'
import { judgeOf, previewIn, without } from './judge.ts'
import { judgingOn } from '../../../src/features/regressions/judging.ts'
import { day } from '../../../src/features/regressions/rule.ts'
import { insideChunks, insideJobOf } from '../../../src/model/inside-chunks.ts'
import { isFull } from '../../full.ts'
import { mergeObservations } from '../../../src/core/take-in/merge-observations.ts'
import { snapshotAttempt } from '../../../src/model/snapshot.ts'
import { takeEvents } from '../../../src/core/take-in/take-events.ts'
import { Random } from '../../../src/simulator/platform/random.ts'
import type { Bench } from '../../store/benches.ts'
import type { PlatformEvent } from '../../../src/model/event.ts'
import type { RunWork } from '../../../src/core/store/ports/runs.ts'
import { type Section } from '../../../src/model/inside.ts'
import type { Store } from '../../../src/core/store/ports/store.ts'

/** A run of a job: its sections within the script, one after another, by name, s; and the one in which it failed. */
interface RunOfJob {
  readonly sections: Readonly<Record<string, number>>
  readonly failsIn?: string | undefined
}
/** By the job's name. */
type Pipeline = Readonly<Record<string, RunOfJob>>

const perDay = 6
const days = 16

export function sectionExercise(name: string, bench: () => Promise<Bench>): void {
  describe(`regressions of sections on ${name}`, () => {
    let here: Bench
    let store: Store
    beforeAll(async () => {
      here = await bench()
      store = await here.open()
    })
    afterAll(async () => {
      await store.close()
      await here.dispose()
    })

    /** The runs of some days before the bench's time, or after it. */
    async function play(
      projectId: number,
      fromDay: number,
      toDay: number,
      of: (run: number) => Pipeline,
    ): Promise<void> {
      const first = fromDay * perDay
      const runs = Array.from({ length: (toDay - fromDay) * perDay }, (_, index) => first + index)
      const observed = runs.map(run => observation(projectId, run, of(run)))
      await store.runs.transact(mergeObservations(observed, 'webhook', rules))
      await store.runs.transact(observed.map(({ key }, index) => snapshotWork(key.pipelineId, of(runs[index]!))))
      await countFigures(store)
    }

    async function judged(readsSections: 'none' | 'some' | 'all', of: Store = store): Promise<PlatformEvent[]> {
      const sent: PlatformEvent[] = []
      const taking = { runs: of.runs, selection: everything, now: () => here.now() }
      const out = { to: [], profile: 'generic', wait: 0, onTaken: () => undefined }
      const judge = judgeOf(of, {
        readsSections,
        take: async found => {
          const some = found.map(({ event: one }) => one)
          sent.push(...some)
          await takeEvents(some, { ...taking, rules: out })
        },
      })
      await judge.judgeAll()
      return sent
    }
    async function flagged(projectId: number) {
      return (await store.repositories.of(foundRegressions).all()).filter(one => one.projectId === projectId)
    }

    const firstBad = (projectId: number, run: number): number => idOf(projectId, run)

    it('are flagged if the job hardly shows them, or once together with the job, with the first bad run, and resolved', async () => {
      const worse = (run: number, by: number): Pipeline => ({
        // A twelfth of the job: nobody would flag the job for it.
        build: { sections: { get_sources: 8, compile: 590, archive: run >= -5 * perDay ? 50 + by : 50 } },
        e2e: { sections: { get_sources: 5, install: run >= -3 * perDay ? 60 + 3 * by : 60, cases: 240 } },
        lint: {
          sections: { get_sources: 5, rules: 30, types: 30 },
          failsIn: run >= -1.5 * perDay && by > 0 ? 'types' : undefined,
        },
      })
      await play(100, -days, 0, run => worse(run, 60))
      const events = await judged('all')
      const found = (await flagged(100)).sort((a, b) => a.first.at - b.first.at)
      expect(found.map(({ kind, job, section, ofSection, also }) => [kind, job, section, ofSection, also])).toEqual([
        ['slower', 'build', 'archive', true, []],
        ['slower', 'e2e', 'install', true, []],
        ['failing', 'lint', 'types', true, []],
      ])
      expect(found.map(({ first }) => first.pipelineId)).toEqual([
        firstBad(100, -5 * perDay),
        firstBad(100, -3 * perDay),
        firstBad(100, -1.5 * perDay),
      ])
      expect(found.map(({ after }) => after)).toEqual([110_000, 240_000, 1])
      expect(found[0]!.before / 50_000).toBeCloseTo(1, 1)
      const sent = events.find(one => one.attributes['cicd.pipeline.task.name'] === 'e2e')
      expect(sent).toMatchObject({
        name: 'platform.cicd.regression.detected',
        attributes: {
          'platform.cicd.regression.subject': 'section',
          'platform.cicd.pipeline.task.section.name': 'install',
          'platform.cicd.regression.duration.after': 240_000,
          'cicd.pipeline.run.id': String(firstBad(100, -3 * perDay)),
        },
        span: { jobId: found[1]!.first.jobId },
      })
      expect(sent?.body).toMatch(/^Section install of job e2e takes 4 m 00 s, before \d\d s$/)
      const preview = await previewIn(store, 100, here.now())
      expect(preview.found.map(({ id }) => id).sort()).toEqual(found.map(({ id }) => id).sort())

      here.move(4 * day)
      await play(100, 0, 4, run => worse(run, 0))
      const later = await judged('all')
      expect(later.map(one => one.name)).toEqual(Array(3).fill('platform.cicd.regression.resolved'))
      expect((await flagged(100)).map(({ resolved }) => resolved?.how)).toEqual(Array(3).fill('recovered'))
      expect(await judged('all')).toEqual([])
      here.move(-4 * day)
    })

    it('explain a regression of their job if its sections are read, and are not computed otherwise', async () => {
      await play(101, -days, 0, run => ({
        e2e: { sections: { get_sources: 5, install: run >= -3 * perDay ? 240 : 60, cases: 240 } },
      }))
      await judged('some')
      const [found, ...more] = await flagged(101)
      expect(more).toEqual([])
      expect(found).toMatchObject({ job: 'e2e', section: 'install', first: { pipelineId: firstBad(101, -3 * perDay) } })
      expect(found?.ofSection).toBeUndefined()
      expect(found?.cause).toMatch(/^Section install went from 1 m 00 s to 4 m 00 s\. It began with commit /)
      // The same once those of all are read: it is flagged already.
      expect(await judged('all')).toEqual([])
      await judged('none', without('sections', store))
    })

    it('are found exactly where they were planted', async () => {
      let projectId = 200
      const planted = fc.record({
        seed: fc.integer({ min: 1, max: 2 ** 30 }),
        times: fc.double({ min: 2.2, max: 5, noNaN: true }),
        which: fc.integer({ min: 0, max: 4 }),
        atRun: fc.integer({ min: -4 * perDay, max: -2 * perDay }),
      })
      await fc.assert(
        fc.asyncProperty(planted, async ({ seed, times, which, atRun }) => {
          projectId += 1
          const quiet = new Random(seed)
          const usual = [12, 45, 60, 90, 240]
          const ofRun = new Map<number, Pipeline>()
          for (let run = -days * perDay; run < 0; run += 1) {
            const took = (index: number, times: number): number => {
              const missesCache = index === 1 && quiet.next() < 0.3
              return Math.round(usual[index]! * (0.85 + 0.3 * quiet.next()) * (missesCache ? 3 : 1) * times)
            }
            const sections = (isWorse: boolean): RunOfJob['sections'] =>
              Object.fromEntries(
                usual.map((_, index) => [`part_${index}`, took(index, isWorse && index === which ? times : 1)]),
              )
            ofRun.set(run, {
              calm: { sections: sections(false) },
              worse: { sections: sections(run >= atRun && usual[which]! >= 60) },
            })
          }
          await play(projectId, -days, 0, run => ofRun.get(run)!)
          const preview = await previewIn(store, projectId, here.now())
          const found = preview.found.map(one => [
            one.job,
            one.section,
            Math.round((one.first.at - here.now()) / (day / perDay)),
          ])
          // What takes seconds, or misses its cache in a third of the runs anyway, has to be left alone.
          const expected = usual[which]! >= 60 ? [['worse', `part_${which}`]] : []
          expect(found.map(one => one.slice(0, 2))).toEqual(expected)
          for (const one of found) expect(Math.abs(Number(one[2]) - atRun)).toBeLessThanOrEqual(2)
        }),
        { numRuns: isFull ? 400 : 3, seed: 7 },
      )
    })

    it('are bounded if a script uses new names every time', async () => {
      await play(9_000, -1, 0, run => ({
        e2e: {
          sections: Object.fromEntries(Array.from({ length: 12 }, (_, index) => [`made_${run}_${index}`, 10 + index])),
        },
      }))
      let count = 0
      const since = here.now() - 3 * day
      const project = { instance, projectId: 9_000, project: 'acme/p9000' }
      for await (const rows of await store.reads(all).on(judgingOn).sections(project, since, since))
        count += rows.length
      expect(count).toBeGreaterThan(0)
      // Of two days, as they begin at midnight.
      expect(count).toBeLessThanOrEqual(2 * 20)
      await pruneFigures(store, 60_000, here.now())
      for await (const rows of await store.reads(all).on(judgingOn).sections(project, since, since))
        expect(rows).toEqual([])
    })
  })
}

function idOf(projectId: number, run: number): number {
  return projectId * 10_000 + 5_000 + run
}

function observation(projectId: number, run: number, pipeline: Pipeline) {
  const id = idOf(projectId, run)
  const start = (run * day) / perDay / 1_000
  const jobs = Object.entries(pipeline).map(([name, one], index) =>
    job(id * 10 + index, name, one.failsIn === undefined ? 'success' : 'failed', {
      ...{ created: start, started: start, finished: start + secondsOf(one) },
    }),
  )
  const seconds = Math.max(...Object.values(pipeline).map(secondsOf))
  const status = Object.values(pipeline).some(one => one.failsIn !== undefined) ? 'failed' : 'success'
  const times = { createdAt: at(start), finishedAt: at(start + seconds) }
  const facts = { ref: 'main', sha: String(id).padStart(40, 'a'), user: { id: 1, username: 'alice' } }
  const observed = event(status, times, jobs, facts, id)
  return {
    ...observed,
    project: { ...observed.project, id: projectId, path: `acme/p${projectId}`, defaultBranch: 'main' },
  }
}

function secondsOf({ sections }: RunOfJob): number {
  return Object.values(sections).reduce((sum, seconds) => sum + seconds, 1)
}

/** The runner's own are by themselves, all others within the script. */
function sectionsOf({ sections, failsIn }: RunOfJob, start: number): Section[] {
  let from = start
  const inner = Object.entries(sections).map(([name, seconds], index): Section => {
    const begun = from
    from += seconds * 1_000
    const isOwn = name === 'get_sources'
    return {
      ...{ ordinal: index + 2, name, kind: isOwn ? 'runner' : 'custom', clock: 'line', start: begun, end: from },
      ...(!isOwn && { parent: 1 }),
      ...(name === failsIn && { failed: true }),
    }
  })
  const script: Section = {
    ...{ ordinal: 1, name: 'step_script', kind: 'runner', clock: 'line', start, end: from },
    ...(failsIn !== undefined && { failed: true }),
  }
  return [script, ...inner]
}

function snapshotWork(pipelineId: number, pipeline: Pipeline): RunWork {
  return {
    key: { instance, pipelineId },
    jobs: 'all',
    decide: (known, now) => {
      if (known === undefined) return undefined
      const trace = { scheme: 'instance' as const, profile: 'generic', rootPipelineId: pipelineId }
      const snapshot = snapshotAttempt(known.run, [...known.run.jobs.values()], trace, false, now, rules)
      const [chunk] = snapshot.chunks
      const read = chunk!.jobs.map(one => {
        return { job: insideJobOf(one), sections: sectionsOf(pipeline[one.name ?? '']!, one.start) }
      })
      const made = insideChunks(snapshot.run, chunk!, read)!
      const pending = [chunk!, ...made.chunks].map(one => ({ chunk: one, to: [] }))
      const ofInsides = made.chunks.flatMap(one => counting.onInside?.(one) ?? [])
      const reports = [...countedIn(snapshot.run, snapshot.chunks), ...ofInsides]
      return { run: made.run, jobs: snapshot.jobs, timing: { changedAt: now }, pending, reports }
    },
  }
}
