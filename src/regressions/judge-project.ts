// Judges one project: daily figures show what looks worse, and only then single runs are read. All that has one cause is one finding. Pure except
// for the reads of `judging`.
import { day, type Rule } from './rule.ts'
import { endedRuns, type EndedRun } from './ended-run.ts'
import { findRegressions, type Past } from './find-regressions.ts'
import { regressionKinds, type DayOfRuns, type Episode, type RegressionKind } from './series.ts'
import { yardstickOf } from './yardstick.ts'
import { setImmediate as breathe } from 'node:timers/promises'
import { plusBins } from '../lib/log-bins.ts'
import type { BranchClass } from '../model/branch-class.ts'
import type { JudgedProject, JudgedRow, Judging } from '../store/ports/judging.ts'
import type { Millis } from '../model/instant.ts'

export interface Subject {
  readonly branch: BranchClass
  readonly job: string
  readonly kind: RegressionKind
}

export interface Found extends Subject {
  readonly episode: Episode
  /** In order of time: the last runs before the first bad one, and the first since. */
  readonly before: readonly EndedRun[]
  readonly since: readonly EndedRun[]
}

/** What earlier judgements found of a subject. */
export type PastOf = (subject: Subject) => Past | undefined

/** Reading stops after so many pipelines, or when every subject has so many runs. With `everything`, only the subjects with the most runs are judged. */
const most = { pipelines: 400, runs: 120, subjects: 200 }
/** How many runs a finding has of those before, and of those since. */
const shownRuns = 10

/** `everything`: also judges subjects whose daily figures look normal. */
export async function judgeProject(
  judging: Judging,
  project: JudgedProject,
  now: Millis,
  rule: Rule,
  { pastOf = () => undefined, everything = false }: { readonly pastOf?: PastOf; readonly everything?: boolean } = {},
): Promise<{ readonly found: Found[]; readonly pipelines: number; readonly backTo: Millis | undefined }> {
  const today = now - (now % day)
  const rows = await judging.figures(project, day, today - 100 * day, today - (everything ? 30 : 1) * day)
  const hours = everything ? [] : await judging.figures(project, 3_600_000, today - day, today - day)
  const subjects = subjectsOf(rows)
  const recent = subjectsOf(hours)
  const wanted = mostRun(subjects, everything ? most.subjects : Infinity).flatMap(([key, days]) =>
    regressionKinds.flatMap(kind => {
      const [first] = days
      if (first === undefined) return []
      const subject = { branch: first.branch, job: first.job, kind }
      const past = pastOf(subject)
      const looks = past?.open !== undefined || looksWorse(kind, days, recent.get(key) ?? [], today, rule)
      return everything || looks ? [{ subject, key, days: daysOf(days), past }] : []
    }),
  )
  if (wanted.length === 0) return { found: [], pipelines: 0, backTo: undefined }
  const { runs, pipelines, backTo } = await readRuns(judging, project, new Set(wanted.map(({ key }) => key)))
  const found: Found[] = []
  for (const { subject, key, days, past } of wanted) {
    const its = runs.get(key) ?? []
    const series = { days, runs: its.map(({ outcome }) => outcome) }
    const episodes = findRegressions(subject.kind, series, rule, past)
    found.push(...episodes.map(episode => withRuns(subject, episode, its)))
    await breathe()
  }
  return { found, pipelines, backTo }
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
  return Map.groupBy(rows, keyOf)
}

function keyOf({ branch, job }: Pick<Subject, 'branch' | 'job'>): string {
  return `${branch} ${job}`
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

/** Whether the last runs are worth reading, by hours where they are stored, else by days. Rather too often than not often enough. */
function looksWorse(kind: RegressionKind, days: Rows, hours: Rows, today: Millis, rule: Rule): boolean {
  const all = daysOf(days)
  const yardstick = yardstickOf(kind, all, today, [], rule)
  if (yardstick === undefined) return false
  const latest = [...daysOf(hours), ...all.filter(one => one.day < today - day)].sort((a, b) => b.day - a.day)
  const { usual, countBad } = yardstick.flag
  let runs = 0
  let bad = 0
  for (const one of latest) {
    if (runs >= 5 || one.day < today - 14 * day) break
    runs += one.runs
    bad += countBad(one)
  }
  return bad >= 2 && bad / runs > Math.min(0.3, 2 * usual + 0.05)
}

async function readRuns(
  judging: Judging,
  project: JudgedProject,
  keys: ReadonlySet<string>,
): Promise<{ runs: Map<string, EndedRun[]>; pipelines: number; backTo: Millis | undefined }> {
  const runs = new Map<string, EndedRun[]>()
  const seen = new Set<number>()
  let backTo: Millis | undefined
  for await (const chunks of judging.newest(project, most.pipelines)) {
    for (const chunk of chunks) {
      seen.add(chunk.key.pipelineId)
      backTo = Math.min(backTo ?? Infinity, chunk.pipeline.end)
      for (const run of endedRuns(chunk)) {
        const key = keyOf(run)
        if (!keys.has(key)) continue
        const its = runs.get(key) ?? []
        its.push(run)
        runs.set(key, its)
      }
    }
    if ([...keys].every(key => (runs.get(key)?.length ?? 0) >= most.runs)) break
  }
  return { runs, pipelines: seen.size, backTo }
}

/** What began at about the same time has one cause. Of each such group: the finding with the greatest effect, and the names of the other jobs. */
export function oneOfEach(found: readonly Found[]): { readonly main: Found; readonly also: readonly string[] }[] {
  const groups: Found[][] = []
  for (const one of found.toSorted((a, b) => a.episode.first.at - b.episode.first.at)) {
    const group = groups.find(([first]) => first !== undefined && belongTogether(first, one))
    if (group === undefined) groups.push([one])
    else group.push(one)
  }
  return groups.flatMap(group => {
    // A pipeline is slow because one of its jobs is: the job is named.
    const [main] = group.toSorted((a, b) => Number(a.job === '') - Number(b.job === '') || effectOf(b) - effectOf(a))
    if (main === undefined) return []
    const others = new Set(group.map(({ job }) => job).filter(job => job !== '' && job !== main.job))
    return [{ main, also: [...others].sort() }]
  })
}

const together = 6 * 3_600_000

function belongTogether(a: Found, b: Found): boolean {
  if (a.kind !== b.kind) return false
  const apart = Math.abs(a.episode.first.at - b.episode.first.at)
  return apart <= together || a.episode.first.id === b.episode.first.id
}

function effectOf({ episode: { before, after } }: Found): number {
  return after - before
}
