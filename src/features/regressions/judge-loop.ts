// Judges the projects with new runs in the background, on the replica that holds the lease. It uses at most one hundredth of a processor: after each
// project it pauses for a hundred times as long as the judgement took.
//
// judged ─► document (flagged) ─► event ─► document (announced)        killed in between: the event is repeated with the same key, so it counts once
import { createLoop, type Loop } from '../../lib/loop.ts'
import { createSingleton } from '../../core/find/rounds.ts'
import { day, settlesAfter } from './series.ts'
import { documentOf, foundRegressions, isOf, pastOf, withResolution, type Regression } from './documents.ts'
import { elapsed } from '../../lib/clock.ts'
import { everything } from '../../core/store/ports/scope.ts'
import { isSameCause, oneOfEach, type Group } from './one-of-each.ts'
import { judgeProject, sectionsRead, type Found, type SectionOptions } from './judge-project.ts'
import { judgingOn, type JudgedProject } from './judging.ts'
import { likelyCause, type SectionTimes } from './likely-cause.ts'
import { regressionEvent } from './regression-event.ts'
import { ruleOf, type RegressionOptions } from './options.ts'
import { sectionTimes, type SectionTime } from '../../model/section-times.ts'
import { takeEvents, type EventTaking } from '../../core/take-in/events.ts'
import type { Condition } from '../../model/condition.ts'
import type { EndedRun } from './ended-run.ts'
import type { Millis } from '../../model/instant.ts'
import type { Notifier } from '../../core/store/ports/reporter.ts'
import type { PartContext } from '../../daemon/feature.ts'
import type { PlatformEvent } from '../../model/event.ts'

/** Exports an event for each announcement and notifies people. An announcement that is repeated after a crash has no effect. */
export type Announce = (found: readonly Announcement[]) => Promise<void>

/** The pauses, ms: `idle` between two searches for new runs; after each project, `factor` times the duration of its judgement, at most `max`. */
const pause = { idle: 10_000, max: 600_000, factor: 100 }
/** The retention of resolved regressions, ms. */
const retention = 100 * day
/** How much longer a regression without new runs stays unresolved, ms. Until then, a run that was not judged yet may resolve it. */
const settlesLate = 7 * day
/** The number of runs before the change, and of runs since the change, whose sections are read. */
const maxRunsWithSections = 5

export interface Judge extends Loop {
  /** Judges all projects with new runs, even without the lease. Returns the number of judged projects. */
  judgeAll(): Promise<number>
}

export function createJudge(
  options: RegressionOptions & SectionOptions,
  { store, clock, log }: Pick<PartContext, 'store' | 'clock' | 'log'>,
  announceAll: Announce,
): Judge {
  const lease = createSingleton('regressions', store.leases, clock)
  const rule = ruleOf(options.regressions)
  const read = sectionsRead(options)
  const regressions = store.repositories.of(foundRegressions)
  const judging = store.reads(everything).on(judgingOn)
  /** For each project, the number of its pipelines that had ended when it was last judged. */
  const judged = new Map<string, number>()
  let waiting: (JudgedProject & { readonly runs: number })[] = []
  let prunedAt = -Infinity

  async function judge(project: JudgedProject): Promise<void> {
    const now = await regressions.now()
    const known = (await regressions.all()).filter(
      one => one.instance === project.instance && one.projectId === project.projectId,
    )
    const settings = { rule, pastOf: pastOf(known), sections: read === 'all' }
    const { found } = await judgeProject(judging, project, now, settings)
    for (const one of found) await resolve(one, known, now)
    const fresh = found.filter(({ episode }) => episode.resolved === undefined)
    const open = known.filter(({ resolved }) => resolved === undefined)
    // A job may recover a few runs earlier than its pipeline. The rest of the pipeline's regression is not a new one, so findings are compared with
    // resolved regressions too.
    const over = known.filter(({ resolved }) => resolved !== undefined)
    for (const group of oneOfEach(fresh.filter(one => !open.some(other => isOf(other, one))))) {
      const same =
        open.find(other => isSameCause(other, group.main)) ?? over.find(other => isSameCause(other, group.main))
      if (same === undefined) await flag(group, now)
      else if (same.resolved === undefined) await join(same, [group.main.job, ...group.also])
    }
  }

  async function resolve(found: Found, known: readonly Regression[], now: Millis): Promise<void> {
    const document = known.find(one => one.resolved === undefined && isOf(one, found))
    // A regression that ended before it was flagged is not announced.
    if (document === undefined || found.episode.resolved === undefined) return
    await announce(withResolution(document, found, now))
  }

  async function flag(group: Group, now: Millis): Promise<void> {
    const { job: its, section } = group.main
    const mayExplain = read !== 'none' && its !== '' && section === ''
    const sections = mayExplain ? await timesOfSections(group.main) : undefined
    const document = documentOf(group, likelyCause(group.main, sections), now)
    if (document === undefined) return
    await announce(document)
    const { project, job, kind, before, after, cause } = document
    log.warn({ project, job, section: document.section, kind, before, after, cause }, 'a regression was flagged')
  }

  async function join(document: Regression, jobs: readonly string[]): Promise<void> {
    const names = jobs.filter(job => job !== '' && job !== document.job && !document.also.includes(job))
    if (names.length > 0) await regressions.put({ ...document, also: [...document.also, ...names].slice(0, 20) })
  }

  /**
   * Stores the document, sends the event, then stores that the event was sent. After a crash in between, the event is sent again with the same key,
   * so it counts once.
   */
  async function announce(document: Regression): Promise<void> {
    const { announced, resolved } = document
    const due = { detected: !announced.detected, resolved: resolved !== undefined && !announced.resolved }
    if (!due.detected && !due.resolved) return
    await regressions.put(document)
    const found = (['detected', 'resolved'] as const).flatMap((which): Announcement[] => {
      const event = due[which] ? regressionEvent(document, which) : undefined
      return event === undefined ? [] : [{ which, regression: document, event }]
    })
    await announceAll(found)
    const done = { detected: true, resolved: announced.resolved || due.resolved }
    await regressions.put({ ...document, announced: done })
  }

  async function timesOfSections({ before, since }: Found): Promise<SectionTimes> {
    const read = async (runs: readonly EndedRun[]): Promise<SectionTime[][]> => {
      const found = await Promise.all(
        runs.map(async ({ of, snapshot }) => store.views.sections(of.key, 4, snapshot?.id)),
      )
      return found.flatMap(insides => {
        const inside = insides.findLast(one => one.sections !== undefined)
        return inside === undefined ? [] : [sectionTimes(inside)]
      })
    }
    return {
      before: await read(before.slice(-maxRunsWithSections)),
      since: await read(since.slice(0, maxRunsWithSections)),
    }
  }

  async function prune(): Promise<void> {
    await regressions.prune(({ resolved }, now) => resolved !== undefined && now - resolved.resolvedAt > retention)
    prunedAt = elapsed(clock)
  }

  /** Finds the projects with new runs since they were last judged. After a start, these are the projects with runs since yesterday. */
  async function look(): Promise<void> {
    const now = await regressions.now()
    for (const one of await regressions.all()) await announce(settledByAge(one, now))
    if (elapsed(clock) - prunedAt > 3_600_000) await prune()
    const today = now - day
    waiting = (await judging.projects(today - (today % day))).filter(one => judged.get(keyOf(one)) !== one.runs)
  }

  /** Judges the next project. Returns false if no project is waiting. */
  async function judgeNext(): Promise<boolean> {
    const next = waiting.shift()
    if (next === undefined) return false
    await judge(next)
    judged.set(keyOf(next), next.runs)
    return true
  }

  const loop = createLoop({
    name: 'regressions',
    clock,
    log,
    turn: async () => {
      if (!(await lease.isMine())) return pause.idle
      const from = performance.now()
      if (waiting.length === 0) await look()
      await judgeNext()
      const rest = Math.min(pause.max, (performance.now() - from) * pause.factor)
      return waiting.length === 0 ? Math.max(pause.idle, rest) : rest
    },
  })
  return {
    ...loop,
    judgeAll: async () => {
      await look()
      let count = 0
      while (await judgeNext()) count += 1
      return count
    },
    stop: async () => {
      await loop.stop()
      await lease.release()
    },
  }
}

function keyOf({ instance, projectId }: JudgedProject): string {
  return `${projectId} ${instance}`
}

/** Resolves an old regression of a job or project that no longer runs: only runs are judged, so no judgement would ever resolve it. */
function settledByAge(one: Regression, now: Millis): Regression {
  const { first, flagged, resolved } = one
  if (resolved !== undefined || now - first.at < settlesAfter + settlesLate) return one
  const { pipelineId } = flagged
  return { ...one, resolved: { pipelineId, at: first.at + settlesAfter, how: 'settled', resolvedAt: now } }
}

export interface Announcement {
  readonly which: 'detected' | 'resolved'
  readonly regression: Regression
  readonly event: PlatformEvent
}

/** Returns a function that announces findings in one transaction. `isExported` is true if regression events are selected for export. */
export function announcing(
  taking: EventTaking,
  notifier: Pick<Notifier, 'reports'>,
  isExported: boolean,
): (found: readonly Announcement[]) => Promise<void> {
  return async found => {
    const conditions = found
      .filter(({ regression: { project, instance } }) => taking.selection.project(project, instance))
      .map(conditionOf)
    await takeEvents(isExported ? found.map(({ event }) => event) : [], taking, notifier.reports(...conditions))
  }
}

function conditionOf({ regression, which, event }: Announcement): Condition {
  const { instance, projectId, project, webUrl, id, kind, job, resolved, flagged, cause, first } = regression
  const isOver = which === 'resolved'
  return {
    ...{ kind: 'regressions', instance, project: { id: projectId, path: project, webUrl }, subject: id },
    ...{ state: isOver ? 'fixed' : 'broken', version: [isOver ? 1 : 0] },
    at: ((isOver ? resolved : undefined) ?? flagged).at,
    title: `${project}: ${event.body}`,
    text: isOver ? undefined : `Since pipeline ${first.pipelineId}: ${cause}`,
    url: first.url,
    details: {
      ...{ 'platform.cicd.regression.id': id, 'platform.cicd.regression.kind': kind },
      ...{ 'cicd.pipeline.task.name': job || undefined, 'cicd.pipeline.run.id': String(first.pipelineId) },
    },
  }
}
