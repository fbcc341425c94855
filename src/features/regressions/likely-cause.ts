// Finds the likely cause: what changed with the first bad run. It compares the stored runs before that run with the runs since, and describes the
// change in one sentence. Another sentence names the commit at which it began. Pure.
import { durationText } from '../../model/instant.ts'
import { median } from '../../lib/quantile.ts'
import { runnerTypeName } from '../../model/job.ts'
import type { EndedRun } from './ended-run.ts'
import type { SectionTime } from '../../model/section-times.ts'
import type { Found } from './judge-project.ts'

/** The durations of a job's sections, in some runs before the change and some runs since. There is one list per run. */
export interface SectionTimes {
  readonly before: readonly (readonly SectionTime[])[]
  readonly since: readonly (readonly SectionTime[])[]
}

export interface LikelyCause {
  readonly cause: string
  /** The section that explains most of the regression. */
  readonly section?: string | undefined
}

export function likelyCause(found: Found, sections?: SectionTimes): LikelyCause {
  const section = sections && mostGrown(sections, found)
  const what =
    (section &&
      `Section ${section.name} went from ${durationText(section.before)} to ${durationText(section.since)}.`) ??
    (found.job === '' ? ofPipeline(found) : undefined) ??
    (found.kind === 'failing' ? reasonOf(found) : undefined) ??
    runnerOf(found)
  const also = section === undefined && found.kind === 'failing' && what !== undefined ? runnerOf(found) : undefined
  const sentences = [what, also === what ? undefined : also, commitOf(found)].filter(one => one !== undefined)
  const cause = sentences.length === 0 ? 'No other change in the stored data explains it.' : sentences.join(' ')
  return { cause, section: section?.name }
}

/**
 * Returns the innermost section that explains at least half of the difference, so that the result is a part of the script and not the whole script.
 */
function mostGrown({ before, since }: SectionTimes, { kind, episode }: Found): Change | undefined {
  if (kind !== 'slower' || before.length === 0 || since.length === 0) return undefined
  const timesOf = (runs: SectionTimes['since']): ReadonlyMap<string, number>[] =>
    runs.map(run => new Map(run.map(({ name, tookMs }) => [name, tookMs])))
  const depths = new Map(since.flat().map(({ name, depth }) => [name, depth]))
  const enough = changesOf(timesOf(before), timesOf(since)).filter(one => isGreat(one, episode))
  const deepest = Math.max(...enough.map(({ name }) => depths.get(name) ?? 0))
  return greatest(enough.filter(({ name }) => (depths.get(name) ?? 0) === deepest))
}

/** Whether a section's change is at least half of the regression's effect, and at least 1 ms. */
function isGreat({ before, since }: Change, { before: usual, after }: Found['episode']): boolean {
  return since - before >= Math.max(1, (after - usual) / 2)
}

interface Change {
  readonly name: string
  readonly before: number
  readonly since: number
}

function changesOf(
  before: readonly ReadonlyMap<string, number>[],
  since: readonly ReadonlyMap<string, number>[],
): Change[] {
  const names = new Set(since.flatMap(one => [...one.keys()]))
  return [...names].map(name => ({
    name,
    before: median(before.map(one => one.get(name) ?? 0)) ?? 0,
    since: median(since.map(one => one.get(name) ?? 0)) ?? 0,
  }))
}

function greatest(changes: readonly Change[]): Change | undefined {
  return changes.toSorted((a, b) => b.since - b.before - (a.since - a.before))[0]
}

function ofPipeline({ kind, before, since, episode }: Found): string | undefined {
  if (kind !== 'slower' || before.length === 0) return undefined
  const half = (episode.after - episode.before) / 2
  const timesOf = (runs: readonly EndedRun[]): ReadonlyMap<string, number>[] => runs.map(({ of }) => of.jobs)
  const grown = greatest(changesOf(timesOf(before), timesOf(since)).filter(one => isGreat(one, episode)))
  if (grown !== undefined) {
    return grown.before === 0
      ? `Job ${grown.name} is new in the pipeline and takes ${durationText(grown.since)}.`
      : `Job ${grown.name} went from ${durationText(grown.before)} to ${durationText(grown.since)}.`
  }
  const queued = (runs: readonly EndedRun[]): number => median(runs.map(({ queuedMs }) => queuedMs ?? 0)) ?? 0
  const [was, is] = [queued(before), queued(since)]
  return is - was >= Math.max(1, half)
    ? `It waits ${durationText(is)} before it starts, up from ${durationText(was)}.`
    : undefined
}

function reasonOf({ before, since }: Found): string | undefined {
  const failed = since.filter(({ outcome }) => outcome.failed)
  const usual = commonOf(before.filter(({ outcome }) => outcome.failed).map(({ reason }) => reason))
  const now = commonOf(failed.map(({ reason }) => reason))
  if (now === undefined) return undefined
  const differs = usual !== undefined && usual.what !== now.what ? `; previously mostly with ${usual.what}` : ''
  return `${now.count} of ${failed.length} fail with ${now.what}${differs}.`
}

/** Returns the runner, or the runner type, that ran at least 80 % of the runs since the change and at most 20 % of the runs before it. */
function runnerOf({ before, since, kind }: Found): string | undefined {
  const bad = kind === 'failing' ? since.filter(({ outcome }) => outcome.failed) : since
  for (const [of, words] of kinds) {
    const now = commonOf(bad.map(of))
    const was = commonOf(before.map(of))
    if (now === undefined || was === undefined || now.what === was.what || now.count < bad.length * 0.8) continue
    const there = before.filter(run => of(run) === now.what).length
    if (there > before.length * 0.2) continue
    return `Since then it runs on ${words(now.what)}; previously mostly on ${words(was.what)}.`
  }
  return undefined
}

const kinds: readonly (readonly [(run: EndedRun) => string | undefined, (value: string) => string])[] = [
  [run => run.runnerType, type => `${runnerTypeName(type)}s`],
  [run => run.runner, name => `runner ${name}`],
]

function commitOf({ since }: Found): string | undefined {
  const [first] = since
  if (first?.of.sha === undefined) return undefined
  const { sha, user, change } = first.of
  const who = user === undefined ? '' : ` by ${user}`
  return `It began with commit ${sha.slice(0, 8)}${who}${change === undefined ? '' : ` in !${change}`}.`
}

function commonOf(all: readonly (string | undefined)[]): { what: string; count: number } | undefined {
  const groups = Map.groupBy(
    all.filter(one => one !== undefined && one !== ''),
    one => one,
  )
  const [most] = [...groups].sort(([, a], [, b]) => b.length - a.length)
  return most?.[0] === undefined ? undefined : { what: most[0], count: most[1].length }
}
