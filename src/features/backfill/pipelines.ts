// Reads past pipelines, which is what `pipespan backfill` does unless a flag selects something else. It reads the projects and groups that the
// command names, or else those that the daemon polls.
import { ConfigError } from '../../lib/fault.ts'
import { createPollContext } from '../../core/find/poll-context.ts'
import { ownPipelines } from '../../core/find/poll-own-pipelines.ts'
import { pollScopeOf } from '../../core/find/poll-scope.ts'
import { readPastPipelines, type PastPipelines } from './past-pipelines.ts'
import { systemClock } from '../../lib/clock.ts'
import type {
  BackfillRequest,
  BackfillContext,
  CommandPlatform,
  BackfillResult,
} from '../../daemon/feature-commands.ts'

export interface NamedPipelines {
  readonly project: readonly string[]
  readonly group: readonly string[]
  /** Whether to also read the pipelines that the token's user started, in all projects. */
  readonly mine: boolean
  /** The values of `--since` and `--until` as typed. A command with the same values resumes the backfill. */
  readonly typedRange: string
}

/** A kind of data, such as pipelines, that one run of the backfill command reads. */
export interface Reading {
  /** The values that identify a command. If two commands have equal values, the second one resumes the first. */
  readonly identity: readonly unknown[]
  /** A sentence to print before the reading begins. */
  readonly warning?: string
  readonly run: (asked: BackfillRequest, context: BackfillContext) => Promise<BackfillResult>
}

/** Returns a `Reading` that reads pipelines. Throws a ConfigError if neither the command nor the configuration names a project or group. */
export function pipelineReading(
  { config, name, groups }: CommandPlatform,
  { project, group, mine, typedRange }: NamedPipelines,
): Reading {
  const isNamed = project.length + group.length > 0 || mine
  const scope = isNamed
    ? pollScopeOf({ projects: project, groups: group, mine, crossProject: false })
    : pollScopeOf(config.poll)
  if (scope.description === undefined)
    throw new ConfigError('No project is given.', 'Use --project, --group or --mine, or set PIPESPAN_POLL_GROUPS.')
  return {
    identity: [typedRange, scope, ...(groups.length > 0 ? [name] : [])],
    warning:
      'Many backends refuse or drop spans with old timestamps: backfill a short range first and check that it arrives.',
    run: async (asked, { client, store, taking }) => {
      const { blockedAfter, staleAfter } = config
      const context = createPollContext({
        ...{ client, runs: store.runs, selection: taking.selection, rules: { blockedAfter, staleAfter } },
        ...{ source: 'backfill', signal: asked.signal, clock: systemClock },
      })
      const report = (progress: Counts & Pick<PastPipelines, 'projects'>): void => {
        const { done, all } = progress.projects
        const seen = `${progress.seen} pipelines (${progress.found} new) in ${done} of ${all} projects`
        asked.onProgress(all === 0 ? undefined : done / all, seen, factsOf(progress))
      }
      report({ projects: { done: 0, all: 0 }, seen: 0, found: 0, requests: 0 })
      const found = await readPastPipelines({
        ...{ context, store, scope, name: asked.name, range: asked.range, dryRun: asked.dryRun },
        onProgress: report,
        now: () => systemClock.now(),
      })
      const { range, resumed, projects, failed, requests } = found
      return {
        ...{ range, resumed, isWhole: failed.length === 0 },
        lines: [
          `Pipelines seen: ${found.seen}, not exported yet: ${found.found}. Projects: ${projects.all}, requests: ${requests}.`,
          ...failed.map(({ project: id, reason }) => {
            const what = id === ownPipelines ? "The token's own pipelines were" : `Project ${id} was`
            return `${what} skipped: ${reason}`
          }),
          whatNext(found, asked, config.platform.budget),
        ],
        facts: { projects: projects.all, ...factsOf(found), failed },
      }
    },
  }
}

type Counts = Pick<PastPipelines, 'seen' | 'found' | 'requests'>

function factsOf({ seen, found, requests }: Counts): Readonly<Record<string, number>> {
  return { pipelines: seen, new: found, requests }
}

function whatNext({ found }: PastPipelines, { dryRun, deliver }: BackfillRequest, perMinute: number): string {
  if (dryRun) {
    // Each pipeline needs three requests: for itself, its jobs and its bridges. The estimate is too low if other requests use the budget, too.
    const needed = found * 3
    return `Nothing was written. Fetching their details takes about ${needed} requests: at least ${minutes((needed / perMinute) * 60)}.`
  }
  if (found === 0) return 'Nothing to export.'
  return deliver
    ? 'They are exported now.'
    : 'The running daemon fetches their details and exports them; without a daemon, use `--deliver`.'
}

export function minutes(seconds: number): string {
  return seconds < 90 ? `${Math.ceil(seconds)} s` : `${Math.ceil(seconds / 60)} min`
}
