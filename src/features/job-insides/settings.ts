// What is wrong with the options of job logs and reports, and how many requests they cost, in sentences for people.
import type { FeatureOf, PerToken } from '../../daemon/feature.ts'
import type { InsideOptions } from './options.ts'

export const wrongInsides: NonNullable<FeatureOf<InsideOptions>['faults']> = (
  { reports, dotenvKeys = [] },
  faultOf,
) => {
  if (!reports.includes('dotenv') || dotenvKeys.length > 0) return []
  const what = 'Dotenv reports are enabled, but no key is allowed to be exported.'
  const remedy =
    'List the keys in dotenv_keys (PIPESPAN_DOTENV_KEYS), or remove dotenv from reports (PIPESPAN_REPORTS).'
  return [faultOf('reports', what, remedy)]
}

const jobsThat = { failed: 'that failed', slow: 'that was slow', all: 'that ran' } as const

/** Of one token. */
export const insideCosts: NonNullable<PerToken<InsideOptions>['costs']> = ({ job, tests, reports }, { platform }) => {
  const chosen = (['failed', 'slow', 'all'] as const).filter(one => [...job.sections, ...job.logs].includes(one))
  const paths = (job.spans ?? []).length
  if (chosen.length === 0 && !tests && reports.length === 0 && paths === 0) return []
  if (platform.url === undefined || platform.token.current() === undefined)
    return ['Job logs and reports: nothing is read without PIPESPAN_PLATFORM_URL and PIPESPAN_PLATFORM_TOKEN.']
  const words = chosen.includes('all') ? jobsThat.all : chosen.map(one => jobsThat[one]).join(' or ')
  const switches = [job.sections.length > 0 && 'PIPESPAN_JOB_SECTIONS', job.logs.length > 0 && 'PIPESPAN_JOB_LOGS']
  const costs = [
    chosen.length > 0 &&
      `Job logs and reports (${switches.filter(Boolean).join(', ')}): 1 request for each job ${words}`,
    tests && 'Tests (PIPESPAN_TESTS): 1 request for each job with a JUnit report',
    paths > 0 &&
      `Spans of jobs (PIPESPAN_JOB_SPANS): ${paths} request${paths === 1 ? '' : 's'} for each job with artifacts`,
    reports.length > 0 &&
      `Reports (PIPESPAN_REPORTS): 1 request for each report of ${reports.join(', ')} that a job has`,
  ]
  return costs.flatMap(cost =>
    cost === false
      ? []
      : `${cost}, in addition to 2 for each pipeline; the budget is ${platform.budget} requests a minute.`,
  )
}
