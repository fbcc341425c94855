// A job's log, for its page and the JSON API: fetched from the platform on demand, redacted, never stored.
import { hasFailed } from '../../../model/status.ts'
import { z } from 'zod'
import { sectionShape } from '../../../console/jobs/job-sections.ts'
import type { Shaped } from '../../../console/layout/shape.ts'
import { needed, NotShown } from '../../../console/layout/not-shown.ts'
import { runCard, type RunCard } from '../../../console/pipelines/run-card.ts'
import type { JobCard } from '../../../console/pipelines/job-card.ts'
import type { AskedJob } from '../../../console/jobs/job-detail.ts'
import { createTextRedaction } from '../../../lib/text-redaction.ts'
import { isWithin } from '../../../model/territory.ts'
import { perMinuteForPeople, type PartContext } from '../../../daemon/feature.ts'
import type { InsideOptions } from '../options.ts'
import type { PagesParts, PagesSettings } from '../../../console/ports.ts'
import type { ShownJob, ShownLine, ShownLog } from '../../../platform/port/inside.ts'

/** `jobLog` is undefined if logs are not shown. */
export interface LogSources extends Pick<PagesParts, 'views' | 'clock' | 'now'> {
  readonly jobLog: JobLogs | undefined
}

interface JobLog {
  readonly pipeline: RunCard
  readonly job: JobCard
  readonly read: ShownLog
}

/** The maximum length of the search string, in UTF-16 code units. */
export const maxFindLength = 200
/** The maximum number of matching lines that are shown. */
const maxFound = 1_000

export const jobLogShape = z.discriminatedUnion('as', [
  z.strictObject({
    as: z.literal('log'),
    lines: z.array(
      z.object({
        number: z.number(),
        text: z.string().describe('Text of the line, redacted and without colours.'),
        section: z.number().optional().describe('The ordinal of the innermost section.'),
      }),
    ),
    found: z.number().describe('Number of matching lines; the first 1,000 are returned.'),
    sections: z.array(sectionShape),
    missing: z
      .object({ lines: z.number(), bytes: z.number(), number: z.number() })
      .optional()
      .describe('The lines that are left out in the middle; `number` is the first of them.'),
    isWhole: z.boolean().describe('False if the log was too long to be read completely.'),
  }),
  z
    .strictObject({ as: z.literal('traced') })
    .describe('The log prints the variables of its job, so none of it is shown.'),
  z.strictObject({
    as: z.literal('refused').describe('The platform did not return the log.'),
    what: z.string(),
    remedy: z.string(),
  }),
])

/** Returns undefined if there is no such job, and `NotShown` if no job logs are shown with this configuration. */
export async function jobLogOf(
  { views, jobLog, clock, now }: LogSources,
  { adminToken }: Pick<PagesSettings, 'adminToken'>,
  asked: AskedJob,
): Promise<JobLog | NotShown | undefined> {
  // Logs are not shown without an admin token: otherwise every user of this machine could read them with the daemon's permissions.
  if (jobLog === undefined || adminToken() === undefined) {
    const own = jobLog === undefined ? ['PIPESPAN_PAGES_LOGS=true', needed.platform] : []
    return NotShown.without('Job logs are not shown', [...own, needed.adminToken])
  }
  const stored = await views.find(asked.projectId, asked.pipelineId, asked.instance)
  if (stored === undefined) return undefined
  const pipeline = runCard(stored, clock)
  const job = pipeline.jobs.find(({ id }) => id === asked.jobId)
  if (job === undefined) return undefined
  const isTraced = stored.run.pipeline?.record.facts.isDebugTraced === true
  return { pipeline, job, read: isTraced ? { as: 'traced' } : await readLog(jobLog, pipeline, job, now()) }
}

export function hasLog({ kind, startedAt }: Pick<JobCard, 'kind' | 'startedAt'>): boolean {
  return kind === 'job' && startedAt !== undefined
}

async function readLog(
  jobLog: JobLogs,
  { instance, projectId, project: path }: RunCard,
  job: JobCard,
  now: number,
): Promise<ShownLog> {
  if (!hasLog(job)) return { as: 'refused', what: 'The job did not run, so it has no log.', remedy: '' }
  const { id, startedAt: start = now, finishedAt = now, status, failureReason } = job
  const isScriptFailure = hasFailed(status) && failureReason === 'script_failure'
  return jobLog({ instance, path, projectId, id, start, end: Math.max(start, finishedAt), isScriptFailure })
}

interface FoundLines {
  readonly count: number
  /** The first matching lines, up to the maximum number. */
  readonly lines: readonly ShownLine[]
}

export function findLines(lines: readonly ShownLine[], find: string): FoundLines {
  const wanted = find.toLowerCase()
  const found = lines.filter(line => textOf(line).toLowerCase().includes(wanted))
  return { count: found.length, lines: found.slice(0, maxFound) }
}

export function textOf({ runs }: ShownLine): string {
  return runs.map(({ text }) => text).join('')
}

/**
 * Returns the log for the JSON API, without colours. With `find`, only lines that contain this string are returned. Returns undefined if there is no
 * such job, and `NotShown` if no job logs are shown with this configuration.
 */
export async function jobLogView(
  sources: LogSources,
  settings: Pick<PagesSettings, 'adminToken'>,
  asked: AskedJob,
  find: string,
): Promise<Shaped<typeof jobLogShape> | NotShown | undefined> {
  const log = await jobLogOf(sources, settings, asked)
  if (log === undefined || log instanceof NotShown) return log
  if (log.read.as !== 'log') return log.read
  const { lines, missing, ...rest } = log.read
  const found = find === '' ? { count: lines.length, lines } : findLines(lines, find)
  return {
    ...rest,
    ...(missing && { missing }),
    found: found.count,
    lines: found.lines.map(line => ({ number: line.number, text: textOf(line), section: line.section })),
  }
}

// Logs are read for users from the API of the platform on which the job ran, if the configuration allows it.

const noToken = 'The job ran on a platform for which the daemon has no token.'

/** `path` is the path of the job's project, if it is known. */
interface LogOwner extends ShownJob {
  readonly instance: string
  readonly path?: string | undefined
}

type JobLogs = (job: LogOwner) => Promise<ShownLog>

/**
 * Returns a function that provides access to job logs. That function returns undefined if logs are not to be shown or no platform token is
 * configured.
 */
export function logsForPeople({ pages, job }: InsideOptions, context: PartContext): () => JobLogs | undefined {
  let known: JobLogs | undefined
  return () => {
    if (known !== undefined || !pages.logs || context.tokens().length === 0) return known
    const { config, clock } = context
    const rules = { redactText: createTextRedaction(config.redact ?? []), readMax: job.logsReadMax, clock }
    const shows = context.tokens().map(({ territory, client, config: own }) => ({
      territory,
      show: client.showLogs({ ...rules, maxPerMinute: perMinuteForPeople(own) }),
    }))
    known = async ({ instance, path, ...owner }) => {
      const found = shows.find(one => isWithin(one.territory, instance, path))
      if (found === undefined) return { as: 'refused', what: noToken, remedy: 'Read it there.' }
      return found.show(owner)
    }
    return known
  }
}
