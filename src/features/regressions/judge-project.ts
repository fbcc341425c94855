// Judges one project: daily figures show what looks worse, and only then single runs are read. Pure except for the reads of `judging`.
import { day, type Rule } from './rule.ts'
import { findRegressions, type Past } from './find-regressions.ts'
import { keyOf, readRuns } from './read-runs.ts'
import { regressionKinds, type DayOfRuns, type Episode, type RegressionKind, type Subject } from './series.ts'
import { yardstickOf } from './yardstick.ts'
import { setImmediate as breathe } from 'node:timers/promises'
import { middleOf, plusBins } from '../../lib/log-bins.ts'
import type { EndedRun } from './ended-run.ts'
import type { JudgedProject, JudgedRow, Judging } from './judging.ts'
import type { RegressionOptions } from './options.ts'
import type { Millis } from '../../model/instant.ts'

export interface Found extends Subject {
  readonly episode: Episode
  /** In order of time: the last runs before the first bad one, and the first since. */
  readonly before: readonly EndedRun[]
  readonly since: readonly EndedRun[]
}

/** For which jobs sections are read. `all`: sections are judged. `some`: they only explain regressions of their jobs. */
export type SectionsRead = 'none' | 'some' | 'all'

/** Of another feature: without it they are not there. */
interface SectionOptions {
  readonly job?: { readonly sections: readonly string[] }
}

/** Some jobs have no usual duration. Without the options of jobs nothing of them is read. */
export function sectionsRead({ job }: RegressionOptions & SectionOptions): SectionsRead {
  if (job === undefined || job.sections.length === 0) return 'none'
  return job.sections.includes('all') ? 'all' : 'some'
}

/** What earlier judgements found of a subject. */
export type PastOf = (subject: Subject) => Past | undefined

export interface Judgement {
  readonly found: readonly Found[]
  /** How many were read, and when the oldest of them ended. */
  readonly pipelines: number
  readonly backTo: Millis | undefined
}

export interface JudgeSettings {
  readonly rule: Rule
  readonly pastOf?: PastOf | undefined
  /** Also judges subjects whose daily figures look normal. */
  readonly everything?: boolean
  /** Also judges sections of jobs. Only if sections of all jobs are read: otherwise it is not known what is normal. */
  readonly sections?: boolean
}

/** At most so many are judged: the subjects with the most runs, the sections with the most time; `worse`: sections that look worse. */
const most = { subjects: 200, sections: { everything: 120, worse: 400 } }
/** How many runs a finding has of those before, and of those since. */
const shownRuns = 10

interface Wanted {
  readonly subject: Subject
  readonly days: readonly DayOfRuns[]
  readonly past: Past | undefined
}

export async function judgeProject(
  judging: Judging,
  project: JudgedProject,
  now: Millis,
  settings: JudgeSettings,
): Promise<Judgement> {
  const wanted = await wantedOf(judging, project, now, settings)
  if (settings.sections === true) wanted.push(...(await wantedSections(judging, project, now, { settings, wanted })))
  if (wanted.length === 0) return { found: [], pipelines: 0, backTo: undefined }
  const subjects = wanted.map(({ subject }) => subject)
  const { runs, pipelines, backTo } = await readRuns(judging, project, subjects)
  const found: Found[] = []
  for (const { subject, days, past } of wanted) {
    const its = runs.get(keyOf(subject)) ?? []
    const series = { days, runs: its.map(({ outcome }) => outcome) }
    const episodes = findRegressions(subject.kind, series, settings.rule, past)
    found.push(...episodes.map(episode => withRuns(subject, episode, its)))
    await breathe()
  }
  return { found, pipelines, backTo }
}

/** The pipelines and jobs that look worse. */
async function wantedOf(
  judging: Judging,
  project: JudgedProject,
  now: Millis,
  { rule, pastOf, everything = false }: JudgeSettings,
): Promise<Wanted[]> {
  const today = now - (now % day)
  const rows = await judging.figures(project, day, today - 100 * day, today - (everything ? 30 : 1) * day)
  const hours = everything ? [] : await judging.figures(project, 3_600_000, today - day, today - day)
  const subjects = subjectsOf(rows)
  const recent = subjectsOf(hours)
  return mostRun(subjects, everything ? most.subjects : Infinity).flatMap(([key, its]) => {
    const days = daysOf(its)
    const latest = daysOf(recent.get(key) ?? [])
    return kindsOf(its, '', subject => ({ days, past: pastOf?.(subject) })).filter(
      ({ subject, past }) =>
        everything || past?.open !== undefined || looksWorse(subject.kind, days, latest, today, rule),
    )
  })
}

/** The sections that look worse, and all sections of jobs that do. */
async function wantedSections(
  judging: Judging,
  project: JudgedProject,
  now: Millis,
  { settings, wanted }: { readonly settings: JudgeSettings; readonly wanted: readonly Wanted[] },
): Promise<Wanted[]> {
  const { rule, pastOf, everything = false } = settings
  const today = now - (now % day)
  const worse = new Set(wanted.map(({ subject: { kind, branch, job } }) => `${kind} ${branch} ${job}`))
  const found: (Wanted & { readonly tookMs: number })[] = []
  for await (const rows of await judging.sections(project, today - 100 * day, today - (everything ? 30 : 1) * day)) {
    for (const its of Map.groupBy(rows, keyOf).values()) {
      const days = daysOf(its)
      const latest = days.filter(one => one.day >= today - day)
      const looked = kindsOf(its, its[0]?.section ?? '', subject => ({ days, past: pastOf?.(subject) })).filter(
        ({ subject: { kind, branch, job }, past }) =>
          everything ||
          past?.open !== undefined ||
          worse.has(`${kind} ${branch} ${job}`) ||
          looksWorse(kind, days, latest, today, rule),
      )
      const tookMs = looked.length === 0 ? 0 : timeOf(days)
      found.push(...looked.map(one => ({ ...one, tookMs })))
    }
    found.sort((a, b) => Number(b.past?.open !== undefined) - Number(a.past?.open !== undefined) || b.tookMs - a.tookMs)
    found.splice(everything ? most.sections.everything : most.sections.worse)
  }
  return found
}

/** One for each kind of regression. */
function kindsOf(rows: Rows, section: string, its: (subject: Subject) => Omit<Wanted, 'subject'>): Wanted[] {
  const [first] = rows
  if (first === undefined) return []
  return regressionKinds.map(kind => {
    const subject = { branch: first.branch, job: first.job, section, kind }
    return { subject, ...its(subject) }
  })
}

function timeOf(days: readonly DayOfRuns[]): number {
  const bins = days.flatMap(({ durations }) => Object.entries(durations))
  return bins.reduce((sum, [bin, count]) => sum + count * middleOf(bin), 0)
}

function mostRun(subjects: ReadonlyMap<string, Rows>, limit: number): (readonly [string, Rows])[] {
  if (subjects.size <= limit) return [...subjects]
  const runsOf = (rows: Rows): number => rows.reduce((sum, { runs }) => sum + runs, 0)
  return [...subjects].sort(([, a], [, b]) => runsOf(b) - runsOf(a)).slice(0, limit)
}

function withRuns(subject: Subject, episode: Episode, runs: readonly EndedRun[]): Found {
  const { first, resolved } = episode
  const sorted = runs.toSorted((a, b) => a.outcome.at - b.outcome.at || a.outcome.id - b.outcome.id)
  const isGood = ({ outcome }: EndedRun): boolean => subject.kind === 'failing' || !outcome.failed
  const start = sorted.findIndex(({ outcome }) => outcome.id === first.id)
  if (start < 0) return { ...subject, episode, before: [], since: [] }
  const since = sorted.slice(start).filter(({ outcome }) => outcome.at <= (resolved?.by.at ?? Infinity))
  return {
    ...{ ...subject, episode },
    before: sorted.slice(0, start).filter(isGood).slice(-shownRuns),
    since: since.filter(isGood).slice(0, shownRuns),
  }
}

type Rows = readonly JudgedRow[]

function subjectsOf(rows: Rows): Map<string, JudgedRow[]> {
  return Map.groupBy(rows, ({ branch, job }) => keyOf({ branch, job, section: '' }))
}

/** Rows of one day are added up: pipelines have one for each name and source. */
function daysOf(rows: Rows): DayOfRuns[] {
  return [...Map.groupBy(rows, ({ bucket }) => bucket)].map(([bucket, some]) => ({
    day: bucket,
    runs: some.reduce((sum, { runs }) => sum + runs, 0),
    failed: some.reduce((sum, { failed }) => sum + failed, 0),
    durations: some.map(({ durations }) => durations).reduce(plusBins, {}),
  }))
}

/** Whether the last runs are worth reading; rather too often than not often enough. `latest`: today and yesterday, by hours where they are stored. */
function looksWorse(
  kind: RegressionKind,
  days: readonly DayOfRuns[],
  latest: readonly DayOfRuns[],
  today: Millis,
  rule: Rule,
): boolean {
  const yardstick = yardstickOf(kind, days, today, [], rule)
  if (yardstick === undefined) return false
  const { usual, countBad } = yardstick.flag
  let runs = 0
  let bad = 0
  for (const one of [...latest, ...days.filter(one => one.day < today - day)].sort((a, b) => b.day - a.day)) {
    if (runs >= 5 || one.day < today - 14 * day) break
    runs += one.runs
    bad += countBad(one)
    // Where a day has many runs, only its last ones may be bad.
    if (bad >= 8 && bad > 2 * usual * runs) return true
  }
  return bad >= 2 && bad / runs > Math.min(0.3, 2 * usual + 0.05)
}
