// Judges one project. Daily figures show which subjects look worse, and individual runs are read only for these. The functions are pure, except that
// they read data through `judging`.
import { day, regressionKinds } from './series.ts'
import type { DayOfRuns, Episode, RegressionKind, Rule, Subject } from './series.ts'
import { endedRuns, sectionRuns, type EndedRun } from './ended-run.ts'
import { findRegressions, type Past } from './find-regressions.ts'
import { middleOf, plusBins } from '../../lib/log-bins.ts'
import { setImmediate as breathe } from 'node:timers/promises'
import { baselineOf } from './baseline.ts'
import type { Chunk } from '../../model/chunk.ts'
import type { JudgedProject, JudgedRow, Judging } from './judging.ts'
import type { Millis } from '../../model/instant.ts'
import type { RegressionOptions } from './options.ts'

export interface Found extends Subject {
  readonly episode: Episode
  /** The last runs before the first bad run, in chronological order. `since` contains the runs from the first bad run on, in the same order. */
  readonly before: readonly EndedRun[]
  readonly since: readonly EndedRun[]
}

/** The jobs for which sections are read. With `all`, sections are judged too. With `some`, sections only explain regressions of their jobs. */
type SectionsRead = 'none' | 'some' | 'all'

/** The options of the feature that reads sections. They are undefined if that feature is missing. */
export interface SectionOptions {
  readonly job?: { readonly sections: readonly string[] }
}

/**
 * If sections are read for failed or slow jobs only, this counts as `some`, because such sections do not show what is normal. Without job options, no
 * sections are read.
 */
export function sectionsRead({ job }: RegressionOptions & SectionOptions): SectionsRead {
  if (job === undefined || job.sections.length === 0) return 'none'
  return job.sections.includes('all') ? 'all' : 'some'
}

/** Returns the findings of earlier judgements about a subject. */
export type PastOf = (subject: Subject) => Past | undefined

export interface Judgement {
  readonly found: readonly Found[]
  /** The number of pipelines that were read. `backTo` is when the oldest of them ended. */
  readonly pipelines: number
  readonly backTo: Millis | undefined
}

export interface JudgeSettings {
  readonly rule: Rule
  readonly pastOf?: PastOf | undefined
  /** If true, subjects whose daily figures look normal are judged too. */
  readonly everything?: boolean
  /** If true, sections of jobs are judged too. Only set if the sections of all jobs are read, because otherwise it is unknown what is normal. */
  readonly sections?: boolean
}

/**
 * The maximum numbers of judged subjects and sections. Subjects with the most runs, and sections that take the most time, come first. `worse` is the
 * maximum number of sections that look worse.
 */
const max = { subjects: 200, sections: { everything: 120, worse: 400 } }
const hour = 3_600_000
/** The maximum number of runs before the change, and since the change, that a finding includes. */
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

/**
 * Returns the subjects to judge: the pipelines and jobs that look worse, and the sections that look worse or belong to a job that does. Subjects with
 * an unresolved regression are always judged.
 */
async function wantedOf(
  judging: Judging,
  project: JudgedProject,
  now: Millis,
  { rule, pastOf, everything = false, sections = false }: JudgeSettings,
): Promise<Wanted[]> {
  const today = now - (now % day)
  const since = today - 100 * day
  const active = today - (everything ? 30 : 1) * day
  const chosen = (rows: Rows, recent: Rows, isWorse: (subject: Subject) => boolean = () => false): Wanted[] => {
    const [days, latest] = [daysOf(rows), daysOf(recent)]
    return regressionKinds.flatMap(kind => {
      const { branch = 'other', job = '', section = '' } = rows[0] ?? {}
      const subject = { branch, job, section, kind }
      const past = pastOf?.(subject)
      const isWanted = everything || past?.open !== undefined || isWorse(subject)
      return isWanted || looksWorse(kind, days, latest, today, rule) ? [{ subject, days, past }] : []
    })
  }
  const subjects = Map.groupBy(await judging.figures(project, day, since, active), keyOf)
  const hours = everything ? [] : await judging.figures(project, hour, today - day, today - day)
  const recent = Map.groupBy(hours, keyOf)
  const most = mostRun(subjects, everything ? max.subjects : Infinity)
  const wanted = most.flatMap(([key, rows]) => chosen(rows, recent.get(key) ?? []))
  if (!sections) return wanted
  const worse = new Set(wanted.map(({ subject: { kind, branch, job } }) => `${kind} ${branch} ${job}`))
  const found: (Wanted & { readonly tookMs: number })[] = []
  for await (const some of await judging.sections(project, since, active)) {
    for (const rows of Map.groupBy(some, keyOf).values()) {
      const latest = rows.filter(({ bucket }) => bucket >= today - day)
      const looked = chosen(rows, latest, ({ kind, branch, job }) => worse.has(`${kind} ${branch} ${job}`))
      found.push(...looked.map(one => ({ ...one, tookMs: timeOf(one.days) })))
    }
    found.sort((a, b) => Number(b.past?.open !== undefined) - Number(a.past?.open !== undefined) || b.tookMs - a.tookMs)
    found.splice(everything ? max.sections.everything : max.sections.worse)
  }
  return [...wanted, ...found]
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

/** Sums the rows of each day: pipelines have a separate row for each name and source. */
function daysOf(rows: Rows): DayOfRuns[] {
  return [...Map.groupBy(rows, ({ bucket }) => bucket)].map(([bucket, some]) => ({
    day: bucket,
    runs: some.reduce((sum, { runs }) => sum + runs, 0),
    failed: some.reduce((sum, { failed }) => sum + failed, 0),
    durations: some.map(({ durations }) => durations).reduce(plusBins, {}),
  }))
}

/**
 * Whether the last runs of a subject are worth reading; true when in doubt. `latest` contains the figures of today and yesterday, by hour if hourly
 * figures are stored.
 */
function looksWorse(
  kind: RegressionKind,
  days: readonly DayOfRuns[],
  latest: readonly DayOfRuns[],
  today: Millis,
  rule: Rule,
): boolean {
  const baseline = baselineOf(kind, days, today, [], rule)
  if (baseline === undefined) return false
  const { usual, countBad } = baseline.flag
  let runs = 0
  let bad = 0
  for (const one of [...latest, ...days.filter(one => one.day < today - day)].sort((a, b) => b.day - a.day)) {
    if (runs >= 5 || one.day < today - 14 * day) break
    runs += one.runs
    bad += countBad(one)
    // Eight bad runs suffice if the share of bad runs is more than twice as high as usual. A limit on the share alone would miss a day with many runs
    // of which only the last are bad.
    if (bad >= 8 && bad > 2 * usual * runs) return true
  }
  return bad >= 2 && bad / runs > Math.min(0.3, 2 * usual + 0.05)
}

/** The limits for reading runs: reading stops after this many pipelines, or as soon as every subject has this many runs. */
const maxRead = { pipelines: 400, runs: 120 }

export interface ReadRuns {
  /** The runs of each subject, by its key (`keyOf`). */
  readonly runs: ReadonlyMap<string, readonly EndedRun[]>
  readonly pipelines: number
  readonly backTo: Millis | undefined
}

export function keyOf({ branch, job, section }: Pick<Subject, 'branch' | 'job' | 'section'>): string {
  return `${branch} ${section}\n${job}`
}

export async function readRuns(
  judging: Pick<Judging, 'newest'>,
  project: JudgedProject,
  wanted: readonly Subject[],
): Promise<ReadRuns> {
  const keys = new Set(wanted.map(keyOf))
  const sectionsOf = new Set(wanted.filter(({ section }) => section !== '').map(({ job }) => job))
  const runs = new Map<string, EndedRun[]>()
  const seen = new Set<number>()
  let backTo: Millis | undefined
  for await (const chunks of await judging.newest(project, maxRead.pipelines, sectionsOf)) {
    for (const { key, pipeline } of chunks) {
      seen.add(key.pipelineId)
      backTo = Math.min(backTo ?? Infinity, pipeline.end)
    }
    for (const run of runsOf(chunks)) {
      const key = keyOf(run)
      if (!keys.has(key)) continue
      const its = runs.get(key) ?? []
      its.push(run)
      runs.set(key, its)
    }
    if ([...keys].every(key => (runs.get(key)?.length ?? 0) >= maxRead.runs)) break
  }
  return { runs, pipelines: seen.size, backTo }
}

function runsOf(chunks: readonly Chunk[]): EndedRun[] {
  const found = chunks.flatMap(chunk => (chunk.inside === undefined ? endedRuns(chunk) : []))
  const byJob = new Map(found.map(run => [run.snapshot?.id, run]))
  for (const { inside } of chunks) {
    if (inside === undefined) continue
    const run = byJob.get(inside.job.id)
    if (run !== undefined) found.push(...sectionRuns(run, inside))
  }
  return found
}
