// Checks what the platform offers of the inside of jobs: what it refused of late, and whether the log of the last job can be read.
import { broken, reportOf, type Finding } from './finding.ts'
import { call } from './platform.ts'
import { isInForce } from '../../store/ports/capability-documents.ts'
import type { Config } from '../../config/options.ts'
import type { PlatformClient } from '../../platform/rest/client.ts'
import type { SharedStore } from '../../store/ports/store.ts'

/** Of a log: enough to see that it may be read. */
const maxBytes = 1_024

export async function checkInsideJobs(
  { job }: Config,
  client: PlatformClient | undefined,
  store: SharedStore | undefined,
): Promise<Finding[]> {
  const report = reportOf('jobs')
  if (job.sections.length + job.logs.length === 0) {
    return [report('skipped', 'Nothing is read inside of jobs (PIPESPAN_JOB_SECTIONS, PIPESPAN_JOB_LOGS).')]
  }
  if (client === undefined) {
    const remedy = 'Set PIPESPAN_PLATFORM_URL and PIPESPAN_PLATFORM_TOKEN.'
    return [report('warning', 'Without a token of the platform nothing can be read inside of jobs.', remedy)]
  }
  const findings = store === undefined ? [] : await refusedOf(store, client.instance)
  const [last] = (await store?.views.lastFinished(1)) ?? []
  const ran = [...(last?.run.jobs.values() ?? [])].find(({ record, times }) => {
    return record.facts.kind === 'job' && times.startedAt !== undefined
  })
  if (last === undefined || ran === undefined || last.run.key.instance !== client.instance) {
    return [...findings, report('skipped', 'No job is known whose log could be asked for.')]
  }
  try {
    const { bytes } = await client.jobLog(last.run.project.facts.id, ran.id, {
      ...call,
      maxBytes,
      onWindow: () => undefined,
    })
    const what = bytes === 0 ? 'the log of the last job is empty' : 'the log of the last job can be read'
    return [...findings, report('fine', `The platform offers logs of jobs: ${what}.`)]
  } catch (error) {
    return [...findings, broken(report, 'warning', error)]
  }
}

async function refusedOf(store: SharedStore, instance: string): Promise<Finding[]> {
  const report = reportOf('jobs')
  const now = await store.now()
  const all = await store.repositories.refusedEndpoints.all()
  return all
    .filter(one => one.instance === instance && isInForce(one, now))
    .map(({ what, project, path, message }) => {
      const where = project === 0 ? 'of all projects' : `of ${path ?? `project ${project}`}`
      return report('warning', `The ${what} of jobs ${where} is not asked for, for a day: ${message}`)
    })
}
