// Tests regressions of jobs and of sections on both databases.
import fc from 'fast-check'
import { beforeEach, describe, expect, it } from 'vitest'
import { announcing, type Announce, type Announcement } from '../../../src/features/regressions/judge-loop.ts'
import { closeAfterTest } from '../../support/after-test.ts'
import { contents } from '../../core/store/filled.ts'
import { day } from '../../../src/features/regressions/series.ts'
import { everything, instance } from '../../flow/world.ts'
import { everything as all, type Scope } from '../../../src/core/store/ports/scope.ts'
import { foundRegressions } from '../../../src/features/regressions/documents.ts'
import { idOf, perDay, play, type Pipeline, type RunOfJob } from './played.ts'
import { isEvent, type AnyChunk, type EventChunk, type PlatformEvent } from '../../../src/model/event.ts'
import { isFull } from '../../full.ts'
import { judgeOf, previewIn, without } from './judge.ts'
import { judgingOn } from '../../../src/features/regressions/judging.ts'
import { bothDatabases, type Bench } from '../../core/store/benches.ts'
import { pruneFigures } from '../../support/counted-figures.ts'
import { Random } from '../../../src/simulator/platform/random.ts'
import { sectionStep } from '../../../src/features/regressions/section-figures.ts'
import type { Condition } from '../../../src/model/condition.ts'
import type { Chunk } from '../../../src/model/chunk.ts'
import type { Store } from '../../../src/core/store/ports/store.ts'

const days = 16

describe.each(bothDatabases())('regressions on %s', (_, bench) => {
  let here: Bench
  let store: Store
  /** The conditions that people may be notified about, each with one report. */
  let told: Map<string, Condition>
  let sent: PlatformEvent[]

  beforeEach(async () => {
    here = closeAfterTest(await bench())
    store = await here.open()
    told = new Map()
    sent = []
  })

  async function playE2e(of: readonly [number, number], seconds: number, more: Partial<RunOfJob> = {}): Promise<void> {
    const e2e = { sections: { cases: seconds - 1 }, ...more }
    await play(store, 3, of, () => ({ build: { sections: { compile: 59 } }, e2e }))
  }

  const judge = async (of = store, announce = announces(of)): Promise<unknown> => judgeOf(of, [], announce).judgeAll()

  function announces(of: Store): Announce {
    const to = [{ destination: 'default', signal: 'logs' as const }]
    const rules = { to, profile: 'generic', wait: 0, onTaken: () => undefined }
    const taking = { runs: of.runs, selection: everything, now: () => here.now(), rules }
    const reports = (...conditions: readonly (Condition | undefined)[]) => {
      for (const one of conditions) if (one !== undefined) told.set(`${one.subject} ${one.state}`, one)
      return []
    }
    return async found => {
      sent.push(...found.map(({ event }) => event))
      await announcing(taking, { reports }, true)(found)
    }
  }

  /** Runs the judge and returns the events that it announced. */
  async function judged(sections: readonly string[], of = store): Promise<PlatformEvent[]> {
    const before = sent.length
    await judgeOf(of, sections, announces(of)).judgeAll()
    return sent.slice(before)
  }

  const stored = () => store.repositories.of(foundRegressions)
  const flagged = async (projectId = 3) => (await stored().all()).filter(one => one.projectId === projectId)

  async function events(): Promise<EventChunk[]> {
    const { chunks = [] } = (await contents(store.tables)) as { chunks?: readonly { content: string }[] }
    return chunks.map(({ content }) => JSON.parse(content) as AnyChunk).filter(isEvent)
  }

  it('flags a regression once with its first bad run, and resolves it once, despite two replicas and restarts', async () => {
    await playE2e([-16, -3], 300)
    await playE2e([-3, 0], 700)
    const other = await here.open()
    await Promise.all([judge(), judge(other)])
    await judge()
    const [found, ...more] = await flagged()
    expect(more).toEqual([])
    expect(found).toMatchObject({
      ...{ kind: 'slower', branch: 'default', job: 'e2e', also: [], after: 700_000 },
      first: { pipelineId: idOf(3, -3 * perDay), user: 'alice' },
      cause: `It began with commit ${'a'.repeat(8)} by alice.`,
      announced: { detected: true, resolved: false },
    })
    expect(found!.before / 300_000).toBeCloseTo(1, 1)
    here.move(3 * day)
    await playE2e([0, 3], 300)
    await Promise.all([judge(), judge(other)])
    await judge()
    await other.close()
    expect((await flagged()).map(({ resolved }) => resolved?.how)).toEqual(['recovered'])
    const sent = await events()
    expect(sent.map(({ event: { name, severity } }) => [name, severity])).toEqual([
      ['platform.cicd.regression.detected', 'warn'],
      ['platform.cicd.regression.resolved', 'info'],
    ])
    expect([...told.values()].map(({ state, title }) => [state, title])).toEqual([
      ['broken', expect.stringMatching(/^acme\/p3: Job e2e takes 11 m 40 s, up from/)],
      ['fixed', expect.stringMatching(/^acme\/p3: Job e2e is as fast as before again/)],
    ])
    expect(sent.map(one => one.job?.jobId)).toEqual([found!.first.jobId, found!.first.jobId])
    expect(sent[0]?.event.attributes).toMatchObject({
      'cicd.pipeline.task.name': 'e2e',
      'cicd.pipeline.run.id': String(idOf(3, -3 * perDay)),
      'platform.cicd.regression.duration.after': 700_000,
    })
  })

  it('exports a regression once if the process crashes between storing and sending it', async () => {
    await playE2e([-16, -2], 300)
    await playE2e([-2, 0], 300, { failsIn: 'cases', reason: 'runner_system_failure' })
    const dies = async (): Promise<never> => Promise.reject(new Error('killed'))
    await expect(judge(store, dies)).rejects.toThrow('killed')
    await judge()
    const late = async (some: readonly Announcement[]): Promise<never> => {
      await announces(store)(some)
      throw new Error('killed later')
    }
    const [found] = await flagged()
    await stored().put({ ...found!, announced: { detected: false, resolved: false } })
    await expect(judge(store, late)).rejects.toThrow('killed later')
    await judge()
    expect((await events()).map(one => one.event.name)).toEqual(['platform.cicd.regression.detected'])
    expect([...told.values()].map(({ state }) => state)).toEqual(['broken'])
    expect(found).toMatchObject({ kind: 'failing', job: 'e2e', after: 1 })
    expect(found?.cause).toContain('fail with runner_system_failure')
  })

  it('finds regressions only in projects that are in scope', async () => {
    await playE2e([-16, -3], 300)
    await playE2e([-3, 0], 700)
    const found = async (sees: Scope['sees']) =>
      (await previewIn(store, 3, here.now(), { bounds: 'hidden', sees })).found
    expect(await found(({ path }) => path === 'acme/p3')).toHaveLength(1)
    expect(await found(({ path }) => path !== 'acme/p3')).toEqual([])
  })

  it('finds no regressions in constant daily figures, and reads no runs to find out', async () => {
    await playE2e([-16, 0], 300)
    await judge(without('newest', store))
    expect(await flagged()).toEqual([])
  })

  it("flags and resolves a section's regression once, with its first bad run, whether or not the job regresses too", async () => {
    const worse = (run: number, by: number): Pipeline => ({
      // The section's slowdown is a twelfth of the job's duration, too little to flag the job itself.
      build: { sections: { get_sources: 8, compile: 590, archive: run >= -5 * perDay ? 50 + by : 50 } },
      e2e: { sections: { get_sources: 5, install: run >= -3 * perDay ? 60 + 3 * by : 60, cases: 240 } },
      lint: {
        sections: { get_sources: 5, rules: 30, types: 30 },
        failsIn: run >= -1.5 * perDay && by > 0 ? 'types' : undefined,
      },
    })
    await play(store, 100, [-days, 0], run => worse(run, 60))
    const events = await judged(['all'])
    const found = (await flagged(100)).sort((a, b) => a.first.at - b.first.at)
    expect(found.map(({ kind, job, section, ofSection, also }) => [kind, job, section, ofSection, also])).toEqual([
      ['slower', 'build', 'archive', true, []],
      ['slower', 'e2e', 'install', true, []],
      ['failing', 'lint', 'types', true, []],
    ])
    expect(found.map(({ first }) => first.pipelineId)).toEqual([
      idOf(100, -5 * perDay),
      idOf(100, -3 * perDay),
      idOf(100, -1.5 * perDay),
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
        'cicd.pipeline.run.id': String(idOf(100, -3 * perDay)),
      },
      span: { jobId: found[1]!.first.jobId },
    })
    expect(sent?.body).toMatch(/^Section install of job e2e takes 4 m 00 s, up from \d\d s$/)
    const preview = await previewIn(store, 100, here.now())
    expect(preview.found.map(({ id }) => id).sort()).toEqual(found.map(({ id }) => id).sort())

    here.move(4 * day)
    await play(store, 100, [0, 4], run => worse(run, 0))
    const later = await judged(['all'])
    expect(later.map(one => one.name)).toEqual(Array(3).fill('platform.cicd.regression.resolved'))
    expect((await flagged(100)).map(({ resolved }) => resolved?.how)).toEqual(Array(3).fill('recovered'))
    expect(await judged(['all'])).toEqual([])
  })

  it("attributes a job's regression to a section if the job's sections are read, and otherwise does not query section figures", async () => {
    await play(store, 101, [-days, 0], run => ({
      e2e: { sections: { get_sources: 5, install: run >= -3 * perDay ? 240 : 60, cases: 240 } },
    }))
    await judged(['e2e'])
    const [found, ...more] = await flagged(101)
    expect(more).toEqual([])
    expect(found).toMatchObject({ job: 'e2e', section: 'install', first: { pipelineId: idOf(101, -3 * perDay) } })
    expect(found?.ofSection).toBeUndefined()
    expect(found?.cause).toMatch(/^Section install went from 1 m 00 s to 4 m 00 s\. It began with commit /)
    // Once the sections of all jobs are read, the regression is not flagged again.
    expect(await judged(['all'])).toEqual([])
    await judged([], without('sections', store))
  })

  it('finds section regressions exactly where the test caused them', async () => {
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
        await play(store, projectId, [-days, 0], run => ofRun.get(run)!)
        const preview = await previewIn(store, projectId, here.now())
        const found = preview.found.map(one => [
          one.job,
          one.section,
          Math.round((one.first.at - here.now()) / (day / perDay)),
        ])
        // Sections that take only seconds, or that usually miss their cache in a third of the runs, must not be flagged.
        const expected = usual[which]! >= 60 ? [['worse', `part_${which}`]] : []
        expect(found.map(one => one.slice(0, 2))).toEqual(expected)
        for (const one of found) expect(Math.abs(Number(one[2]) - atRun)).toBeLessThanOrEqual(2)
      }),
      { numRuns: isFull ? 400 : 3, seed: 7 },
    )
  })

  it('limits the section figures of a job whose script uses new section names in every run', async () => {
    await play(store, 9_000, [-1, 0], run => ({
      e2e: {
        sections: Object.fromEntries(Array.from({ length: 12 }, (_, index) => [`made_${run}_${index}`, 10 + index])),
      },
    }))
    let count = 0
    const since = here.now() - 3 * day
    const project = { instance, projectId: 9_000, project: 'acme/p9000' }
    for await (const rows of await store.reads(all).on(judgingOn).sections(project, since, since)) count += rows.length
    expect(count).toBeGreaterThan(0)
    // The limit of 20 names applies per day, and the runs span two days, because days begin at midnight.
    expect(count).toBeLessThanOrEqual(2 * 20)
    await pruneFigures(store, 60_000, here.now())
    for await (const rows of await store.reads(all).on(judgingOn).sections(project, since, since))
      expect(rows).toEqual([])
  })
})

it('ignores sections that are not exported to any destination', () => {
  expect(sectionStep.onInside?.({ inside: { sections: [] } } as unknown as Chunk, { isSent: false })).toEqual([])
})
