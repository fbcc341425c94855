// Checks job logs and reports: which requests the platform recently rejected, whether the latest job's log can be read, and which of the configured
// reports recent jobs have.
import { broken, reportOf, type Finding } from '../../lib/finding.ts'
import { reportTypes } from '../../model/job-reports.ts'
import { archiveArtifact, testArtifact } from '../../model/observation.ts'
import { jobReadables } from './queue.ts'
import { refusedOf } from '../../core/complete/capability.ts'
import type { InsideOptions } from './options.ts'
import type { TokenCheck } from '../../daemon/feature.ts'
import type { PlatformClient } from '../../platform/port.ts'
import type { SharedStore } from '../../core/store/ports/store.ts'

const report = reportOf('jobs')
/** The maximum number of log bytes that the check reads: enough to see that the token may read the log. */
const maxBytes = 1_024

export const checkInsides: TokenCheck<InsideOptions>['run'] = async (options, { client, store }) => {
  const { job } = options
  const readsLogs = job.sections.length + job.logs.length > 0
  const types = artifactsOf(options)
  if (!readsLogs && types.length === 0) {
    const switches = 'PIPESPAN_JOB_SECTIONS, PIPESPAN_JOB_LOGS, PIPESPAN_TESTS, PIPESPAN_REPORTS, PIPESPAN_JOB_SPANS'
    return report('skipped', `Job logs and reports are off (${switches}).`)
  }
  if (client === undefined) {
    const remedy = 'Set PIPESPAN_PLATFORM_URL and PIPESPAN_PLATFORM_TOKEN.'
    return report('warning', 'Job logs and reports cannot be read without a platform token.', remedy)
  }
  const findings = [
    ...(store === undefined ? [] : await refusedOf(store, client.instance, report, nameOfInside)),
    ...(store === undefined || types.length === 0 ? [] : [await foundOf(store, client.instance, types)]),
  ]
  return readsLogs ? [...findings, await checkLog(client, store)] : findings
}

function nameOfInside(what: string): string | undefined {
  if (what === 'log') return 'Job logs'
  return what === 'junit' || jobReadables.some(one => one === what) ? `Job reports (${what})` : undefined
}

async function checkLog(client: PlatformClient, store: SharedStore | undefined): Promise<Finding> {
  const [last] = (await store?.views.lastFinished(1)) ?? []
  const ran = [...(last?.run.jobs.values() ?? [])].find(({ record, times }) => {
    return record.facts.kind === 'job' && times.startedAt !== undefined
  })
  if (last === undefined || ran === undefined || last.run.key.instance !== client.instance) {
    return report('skipped', 'There is no recent job whose log could be checked.')
  }
  try {
    const { bytes } = await client.jobLog(last.run.project.facts.id, ran.id, {
      priority: 'enrich',
      maxBytes,
      onWindow: () => undefined,
    })
    const what = bytes === 0 ? 'the log of the latest job is empty' : 'the log of the latest job can be read'
    return report('fine', `The platform provides job logs: ${what}.`)
  } catch (error) {
    return broken(report, 'warning', error)
  }
}

/** Returns the artifact types of the configured reports. */
function artifactsOf({ job, tests, reports }: InsideOptions): string[] {
  const ofSpans = (job.spans ?? []).length > 0 ? [archiveArtifact] : []
  return [...(tests ? [testArtifact] : []), ...reports.flatMap(one => reportTypes[one]), ...ofSpans]
}

/** The number of pipelines whose jobs are checked for reports. */
const maxPipelines = 50

/**
 * Reports which of the configured report types recent jobs have. A single missing type is fine, because it may be rare. If all types are missing,
 * that is a warning.
 */
async function foundOf(store: SharedStore, instance: string, types: readonly string[]): Promise<Finding> {
  const last = await store.views.lastFinished(maxPipelines)
  const jobs = last.flatMap(({ run }) => (run.key.instance === instance ? [...run.jobs.values()] : []))
  const found = types.filter(type =>
    jobs.some(({ record: { facts } }) => facts.artifactSizes !== undefined && Object.hasOwn(facts.artifactSizes, type)),
  )
  if (jobs.length === 0) return report('skipped', 'There are no recent jobs whose reports could be checked.')
  if (found.length > 0) return report('fine', `Jobs of recent pipelines have these reports: ${found.join(', ')}.`)
  const those = last.length === 1 ? 'the last pipeline' : `the last ${last.length} pipelines`
  const remedy = 'Declare them in the job under `artifacts:reports`; Pipespan reads the list of artifacts of the job.'
  return report('warning', `No job of ${those} has a report of ${types.join(' or ')}.`, remedy)
}
