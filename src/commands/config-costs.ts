// How many requests to the platform's API the configured features cost, in sentences for people.
import type { Config } from '../daemon/configuration/options.ts'
import { features } from '../features.ts'
import { surroundingsOf } from '../daemon/export.ts'
import { platformViews } from '../daemon/configuration/platforms.ts'
import { wishesOf } from '../daemon/wanted-facts.ts'

const meanings = { failed: 'that failed', slow: 'that was slow', all: 'that ran' } as const

/** Empty if no feature costs any. With several tokens, of each. */
export function costsOf(config: Config): string[] {
  const views = platformViews(config)
  const costs = views.flatMap(view =>
    costsOfOne(view.config).map(cost => (views.length === 1 ? cost : `${view.name}: ${cost}`)),
  )
  const surroundings = surroundingsOf(config, features)
  return [...costs, ...features.flatMap(one => one.costs?.(config as never, surroundings) ?? [])]
}

function costsOfOne(config: Config): string[] {
  return [
    ...insideCosts(config),
    ...hookCosts(config),
    ...attributeCosts(config),
    ...features.flatMap(one => one.perToken?.costs?.(config as never, config) ?? []),
  ]
}

/** Whether there is a platform to send requests to. */
function asksPlatform({ platform }: Config): boolean {
  return platform.url !== undefined && platform.token.current() !== undefined
}

function* attributeCosts(config: Config): Generator<string> {
  const { labels, variables } = wishesOf(config)
  const without = 'only those in webhooks are read without PIPESPAN_PLATFORM_URL and PIPESPAN_PLATFORM_TOKEN.'
  const words = (cost: string): string => (asksPlatform(config) ? cost : without)
  if (labels) yield `Labels (attributes.rules): ${words('at most 2 requests for each pipeline of a merge request.')}`
  if (variables) yield `Variables (attributes.rules): ${words('1 request for each pipeline that no webhook reported.')}`
}

function hookCosts({ redelivery, watchHooks, poll }: Config): string[] {
  const owners = (poll.projects ?? []).length + (poll.groups ?? []).length
  if (owners === 0 || !(redelivery || watchHooks)) return []
  const on = redelivery ? 'PIPESPAN_REDELIVERY' : 'PIPESPAN_WATCH_HOOKS'
  return [
    `Hooks (${on}): ${owners} ${owners === 1 ? 'request' : 'requests'} every 5 minutes, and 1 more for each hook of this daemon and each 100 of its deliveries.`,
  ]
}

function* insideCosts(config: Config): Generator<string> {
  const { job, tests, reports, platform } = config
  const readsLogs = job.sections.length + job.logs.length > 0
  const paths = (job.spans ?? []).length
  if (!readsLogs && !tests && reports.length === 0 && paths === 0) return
  if (!asksPlatform(config)) {
    yield 'Job logs and reports: nothing is read without PIPESPAN_PLATFORM_URL and PIPESPAN_PLATFORM_TOKEN.'
    return
  }
  const beside = `in addition to 2 for each pipeline; the budget is ${platform.budget} requests a minute.`
  if (readsLogs) yield `${logCosts(job)}, ${beside}`
  if (tests) yield `Tests (PIPESPAN_TESTS): 1 request for each job with a JUnit report, ${beside}`
  if (paths > 0)
    yield `Spans of jobs (PIPESPAN_JOB_SPANS): ${paths} request${paths === 1 ? '' : 's'} for each job with artifacts, ${beside}`
  if (reports.length > 0)
    yield `Reports (PIPESPAN_REPORTS): 1 request for each report of ${reports.join(', ')} that a job has, ${beside}`
}

function logCosts({ sections, logs }: Config['job']): string {
  const chosen = (['failed', 'slow', 'all'] as const).filter(one => sections.includes(one) || logs.includes(one))
  const words = chosen.includes('all') ? meanings.all : chosen.map(one => meanings[one]).join(' or ')
  const switches = [sections.length > 0 && 'PIPESPAN_JOB_SECTIONS', logs.length > 0 && 'PIPESPAN_JOB_LOGS']
  return `Job logs and reports (${switches.filter(Boolean).join(', ')}): 1 request for each job ${words}`
}
