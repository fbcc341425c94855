// Checks the platform's webhooks: whether they are registered and enabled, send the right events, and what the responses to their last deliveries
// were.
import { broken, reportOf, type Finding } from '../../lib/finding.ts'
import { call, ownersOf } from './platform.ts'
import { flagsOf, missingEvents, missingSecrets } from '../hooks.ts'
import { hookEventsOf } from '../platform.ts'
import type { Config } from '../../daemon/configuration/options.ts'
import type { HookDelivery, HookOwner, PlatformClient, PlatformHook } from '../../platform/port.ts'

const report = reportOf('hooks')

export async function checkHooks(config: Config, client: PlatformClient | undefined): Promise<Finding[]> {
  const owners = ownersOf(config)
  const { publicUrl } = config
  if (client === undefined || owners.length === 0) {
    return [
      report(
        'skipped',
        'No projects or groups are configured for polling (PIPESPAN_POLL_…), so no webhooks can be checked.',
      ),
    ]
  }
  if (publicUrl === undefined) {
    return [
      report(
        'skipped',
        'PIPESPAN_PUBLIC_URL is not set, so the webhooks of this daemon cannot be distinguished from others.',
      ),
    ]
  }
  const url = `${publicUrl.replace(/\/+$/, '')}/webhooks`
  const findings: Finding[] = []
  for (const { owner, name } of owners) {
    try {
      findings.push(...(await checkOwner(client, owner, name, url, config)))
    } catch (error) {
      findings.push(broken(report, 'warning', error))
    }
  }
  return findings
}

async function checkOwner(
  client: PlatformClient,
  owner: HookOwner,
  name: string,
  url: string,
  config: Config,
): Promise<Finding[]> {
  const { items: hooks, left } = await client.hooks(owner, call)
  const own = hooks.filter(hook => hook.url.replace(/\/+$/, '') === url || hook.mayBeAt(url))
  if (own.length === 0) {
    const how = 'group' in owner ? `--group ${name}` : `--project ${name}`
    return [
      report('failure', `No hook of ${name} points at ${url}.`, `Create one with \`pipespan hooks ensure ${how}\`.`),
    ]
  }
  const findings: Finding[] = []
  if (left > 0)
    findings.push(
      report('warning', `The list of hooks of ${name} is too long to be read completely: the rest was not checked.`),
    )
  for (const hook of own) {
    const flags = flagsOf(hookEventsOf(config.events), owner)
    const wrong = [...stateOf(hook, name, flags), ...secretsOf(hook, name, config)]
    findings.push(...wrong)
    const last = await lastDelivery(client, owner, hook.id)
    const failed = last === undefined ? undefined : failureOf(last, hook, name)
    if (failed !== undefined) findings.push(failed)
    else if (wrong.length === 0)
      findings.push(
        report(
          'fine',
          `Hook ${hook.id} of ${name} is enabled${last === undefined ? '' : ', and its last delivery was accepted'}.`,
        ),
      )
  }
  return findings
}

function* stateOf(hook: PlatformHook, name: string, flags: readonly string[]): Generator<Finding> {
  if (hook.alertStatus !== undefined && hook.alertStatus !== 'executable') {
    const until = hook.disabledUntil === undefined ? '' : ` until ${new Date(hook.disabledUntil).toISOString()}`
    const state = hook.alertStatus.replaceAll('_', ' ')
    const remedy =
      'Find out why its deliveries failed, then send a test event from its page on the platform to enable it again.'
    yield report('failure', `Hook ${hook.id} of ${name} is ${state}${until}: the platform sends nothing.`, remedy)
  }
  if (hook.hasTemplate) {
    const remedy = "Remove the template on the webhook's page on the platform: only the default payload can be decoded."
    yield report('failure', `Hook ${hook.id} of ${name} has a custom payload template.`, remedy)
  }
  const events = missingEvents(hook, flags)
  if (events.length > 0) {
    const remedy = 'Repair it with `pipespan hooks ensure`.'
    yield report('warning', `Hook ${hook.id} of ${name} does not send ${events.join(' and ')}.`, remedy)
  }
}

/** Returns findings about secrets that are configured for the daemon but missing from the webhook. */
function secretsOf(hook: PlatformHook, name: string, { webhook }: Config): Finding[] {
  const [token] = webhook.token.current() ?? []
  const [signingToken] = webhook.signingToken.current() ?? []
  const lacks = missingSecrets(hook, { token, signingToken })
  const whatLacks = [lacks.token && 'secret token', lacks.signingToken && 'signing token']
  const missing = whatLacks.filter(word => word !== undefined).join(' and no ')
  if (missing === '') return []
  const isTokenEnough = token !== undefined && lacks.token === undefined && !webhook.requireSignature
  const isSigned = signingToken !== undefined && hook.signingTokenPresent === true
  const [level, consequence] =
    !isTokenEnough && !isSigned
      ? (['failure', 'its deliveries are refused'] as const)
      : isSigned
        ? (['warning', 'the daemon cannot reject forged deliveries before it reads their bodies'] as const)
        : (['warning', 'its deliveries are accepted by their token alone'] as const)
  const remedy = 'Set it with `pipespan hooks ensure`.'
  return [report(level, `Hook ${hook.id} of ${name} has no ${missing}: ${consequence}.`, remedy)]
}

async function lastDelivery(client: PlatformClient, owner: HookOwner, id: number): Promise<HookDelivery | undefined> {
  for await (const { items } of client.hookDeliveries(owner, id, call)) return items[0]
  return undefined
}

function failureOf({ responseStatus }: HookDelivery, hook: PlatformHook, name: string): Finding | undefined {
  const status = responseStatus ?? 'no answer'
  if (/^2\d\d$/.test(status)) return undefined
  const what = `The last delivery of hook ${hook.id} of ${name} was answered with ${status}`
  if (status === '401') {
    const remedy = 'Set the secret again with `pipespan hooks ensure --write-secret`.'
    return report('failure', `${what}: its secret differs from the daemon's.`, remedy)
  }
  const remedy = /^\d+$/.test(status)
    ? 'See the log of the daemon, or of the proxy in front of it.'
    : 'Check that the platform can reach PIPESPAN_PUBLIC_URL: DNS name, firewall, certificate.'
  return report('warning', `${what}.`, remedy)
}
