// A job's log for whoever may read it: fetched from the platform when somebody asks for it, redacted, stored nowhere.
import { runCard, type JobCard, type RunCard } from './run-card.ts'
import type { AskedJob } from './job-detail.ts'
import type { LogLine, PagesSettings, PagesSources, ReadLog } from './ports.ts'

export type LogSources = Pick<PagesSources, 'views' | 'jobLog' | 'now'>

export interface JobLog {
  readonly pipeline: RunCard
  readonly job: JobCard
  readonly read: ReadLog
}

/** Of what is looked for, UTF-16 units. */
export const longestFind = 200
/** Lines that hold what is looked for. */
const mostFound = 1_000

/** Undefined: there is no such job, or logs are not shown. */
export async function jobLogOf(
  { views, jobLog, now }: LogSources,
  { adminToken }: Pick<PagesSettings, 'adminToken'>,
  asked: AskedJob,
): Promise<JobLog | undefined> {
  // Whoever reads it reads it by the rights of the daemon.
  if (jobLog === undefined || adminToken() === undefined) return undefined
  const stored = await views.find(asked.projectId, asked.pipelineId, asked.instance)
  if (stored === undefined) return undefined
  const pipeline = runCard(stored)
  const job = pipeline.jobs.find(({ id }) => id === asked.jobId)
  return job && { pipeline, job, read: await readLog(jobLog, pipeline, job, now()) }
}

/** Whether a job's page leads to its log. */
export function hasLog({ kind, startedAt }: Pick<JobCard, 'kind' | 'startedAt'>): boolean {
  return kind === 'job' && startedAt !== undefined
}

async function readLog(
  jobLog: NonNullable<PagesSources['jobLog']>,
  { instance, projectId }: RunCard,
  job: JobCard,
  now: number,
): Promise<ReadLog> {
  if (!hasLog(job)) return { as: 'refused', what: 'The job did not run, so it has no log.', remedy: '' }
  const { id, startedAt: start = now, finishedAt = now, status, failureReason } = job
  const isScriptFailure = status === 'failed' && failureReason === 'script_failure'
  return jobLog({ instance, projectId, id, start, end: Math.max(start, finishedAt), isScriptFailure })
}

export interface FoundLines {
  readonly count: number
  /** The first of them. */
  readonly lines: readonly LogLine[]
}

export function findLines(lines: readonly LogLine[], find: string): FoundLines {
  const wanted = find.toLowerCase()
  const found = lines.filter(line => textOf(line).toLowerCase().includes(wanted))
  return { count: found.length, lines: found.slice(0, mostFound) }
}

export function textOf({ runs }: LogLine): string {
  return runs.map(({ text }) => text).join('')
}

/** As JSON has it: without its colours. `find`: lines without it are left out. Undefined as above. */
export async function jobLogView(
  sources: LogSources,
  settings: Pick<PagesSettings, 'adminToken'>,
  asked: AskedJob,
  find: string,
): Promise<unknown> {
  const log = await jobLogOf(sources, settings, asked)
  if (log?.read.as !== 'log') return log?.read
  const { lines, missing, ...rest } = log.read
  const found = find === '' ? { count: lines.length, lines } : findLines(lines, find)
  return {
    ...rest,
    ...(missing && { missing }),
    found: found.count,
    lines: found.lines.map(line => ({ number: line.number, text: textOf(line), section: line.section })),
  }
}
