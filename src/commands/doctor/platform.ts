// Checks the platform: whether it is reachable, which permissions the token has, the clocks, and the API budget.
import { broken, reportOf, type Finding } from '../../lib/finding.ts'
import { createStoredBudget } from '../../daemon/platform.ts'
import { askClockOffset, resourceIdOf } from '../platform.ts'
import { PlatformError, type CallOptions, type HookOwner, type PlatformClient } from '../../platform/port.ts'
import { ownPipelinesOf } from '../../core/find/poll-own-pipelines.ts'
import { pollScopeOf } from '../../core/find/poll-scope.ts'
import { fingerprintOf } from '../../lib/secret.ts'
import { reasonOf } from '../../lib/fault.ts'
import { systemClock } from '../../lib/clock.ts'
import type { Config } from '../../daemon/configuration/options.ts'
import type { SharedStore } from '../../core/store/ports/store.ts'

export const call: CallOptions = { priority: 'enrich' }
/**
 * The maximum clock difference that causes no warning, ms. Signed webhooks are rejected only beyond five minutes, but logs and traces are hard to
 * compare long before that.
 */
const maxClockDifferenceMs = 30_000

/** Returns the polled projects and groups, whose webhooks and permissions are checked. */
export function ownersOf({ poll }: Config): { readonly owner: HookOwner; readonly name: string }[] {
  return [
    ...(poll.projects ?? []).map(name => ({ owner: { project: resourceIdOf(name) }, name })),
    ...(poll.groups ?? []).map(name => ({ owner: { group: resourceIdOf(name) }, name })),
  ]
}

/** Sends the requests that the daemon would send, because no other request shows whether the token's scopes are sufficient. */
export async function checkPlatform(config: Config, client: PlatformClient | undefined): Promise<Finding[]> {
  const report = reportOf('platform')
  if (config.platform.url === undefined) {
    return [report('skipped', 'No platform API is configured (PIPESPAN_PLATFORM_URL).')]
  }
  if (client === undefined) {
    return [report('skipped', 'No platform token is configured: details that webhooks leave out are not fetched.')]
  }
  const findings: Finding[] = []
  if (pollScopeOf(config.poll).description === undefined) {
    findings.push(
      report(
        'skipped',
        'Nothing is polled: PIPESPAN_POLL_CROSS_PROJECT is off, and no projects or groups are configured.',
      ),
    )
  }
  // A job token has no user. Only the requests for the polled lists show what it may read.
  if (config.platform.tokenType !== 'job') {
    try {
      await client.isAdministrator(call)
      findings.push(report('fine', `${client.instance} answers and accepts the token.`))
    } catch (error) {
      // The platform does not document the request for the token's user, and a token may lack permission for it. The requests for the polled lists
      // show what the token may read.
      const isNoProof = error instanceof PlatformError && (error.kind === 'not-found' || error.kind === 'forbidden')
      if (!isNoProof) return [broken(report, 'failure', error)]
      findings.push(report('fine', `${client.instance} answers.`))
    }
  } else if (polledLists(config, client).length === 0) {
    findings.push(
      report(
        'skipped',
        'What the job token may read can only be checked once projects are configured for polling (PIPESPAN_POLL_PROJECTS).',
      ),
    )
  }
  for (const { name, pages } of polledLists(config, client)) {
    try {
      await pages[Symbol.asyncIterator]().next()
      findings.push(report('fine', `The token can read ${name}.`))
    } catch (error) {
      findings.push(broken(report, 'failure', error))
    }
  }
  return findings
}

function polledLists(
  config: Config,
  client: PlatformClient,
): { readonly name: string; readonly pages: AsyncIterable<unknown> }[] {
  const { ownPipelines, memberProjects } = pollScopeOf(config.poll)
  const ofAll = [
    ...(ownPipelines
      ? [{ name: "its user's pipelines in all projects", pages: ownPipelinesOf(client, {}, call) }]
      : []),
    ...(memberProjects
      ? [{ name: 'the projects that its user is a member of', pages: client.projects('member', {}, call) }]
      : []),
  ]
  const named = ownersOf(config).map(({ owner, name }) => ({
    name,
    pages: 'project' in owner ? client.projectPipelines(owner.project, {}, call) : client.projects(owner, {}, call),
  }))
  return [...ofAll, ...named]
}

export async function checkClock(config: Config): Promise<Finding> {
  const report = reportOf('clock')
  const { url } = config.platform
  if (url === undefined) return report('skipped', 'No platform is configured to compare the clock with.')
  try {
    const offset = await askClockOffset(config, url)
    if (offset === undefined) return report('skipped', 'The platform does not report its time.')
    const off = Math.round(offset / 1_000)
    if (Math.abs(off) * 1_000 <= maxClockDifferenceMs) return report('fine', 'The clocks agree.')
    return report(
      'warning',
      `The platform's clock is ${Math.abs(off)} s ${off > 0 ? 'ahead of' : 'behind'} this machine's.`,
      'Synchronize both with NTP: beyond 300 s signed webhooks are refused.',
    )
  } catch (error) {
    return report('skipped', `The platform's time cannot be read: ${reasonOf(error)}.`)
  }
}

/** Reports how many requests remain in the current minute for all processes that share the token. */
export async function checkBudget(config: Config, store: SharedStore | undefined): Promise<Finding> {
  const report = reportOf('budget')
  const token = config.platform.token.current()
  if (store === undefined || token === undefined) {
    return report('skipped', 'The API budget cannot be checked: there is no platform token, or no store yet.')
  }
  const perMinute = config.platform.budget
  const budget = createStoredBudget({
    budgets: store.repositories.budgets,
    rules: { perMinute },
    account: () => fingerprintOf(token),
    clock: systemClock,
  })
  const { available, pausedFor } = await budget.snapshot()
  if (pausedFor > 0) {
    const remedy = "Lower PIPESPAN_PLATFORM_BUDGET, or raise the platform's rate limit for this user."
    return report(
      'warning',
      `The platform's rate limit blocks requests for another ${Math.ceil(pausedFor / 1_000)} s.`,
      remedy,
    )
  }
  if (available > 0) return report('fine', `${available} requests available now, ${perMinute} a minute.`)
  return report(
    'warning',
    `The API budget of ${perMinute} requests a minute is used up.`,
    "If this happens often, raise PIPESPAN_PLATFORM_BUDGET as far as the platform's limits allow.",
  )
}
