// `pipespan hooks ensure`: creates or repairs the webhooks that the daemon needs, for projects, groups or all projects.
//
//   no hook with the URL ─► create      events or a secret missing, the old URL, or --write-secret ─► edit      else ─► fine
import { plainLine } from '../lib/plain-text.ts'
import { complain, exitCode, print, type Terminal, printJson } from '../lib/terminal.ts'
import { Fault } from '../lib/fault.ts'
import { resourceIdOf } from './platform.ts'
import { unlessRefused } from '../core/find/limits.ts'
import type { HookEvents } from '../platform/port/webhook.ts'
import type { HookOwner, HookWish, PlatformClient, PlatformHook } from '../platform/port.ts'
import type { Secret } from '../lib/secret.ts'

export interface HooksEnsureOptions {
  /** The IDs or full paths of the projects. */
  readonly projects: readonly string[]
  readonly groups: readonly string[]
  /** Whether to cover all projects that the token's user maintains or, with an administrator's token, all projects of the instance. */
  readonly allProjects: boolean
  /** The daemon's webhook URL. */
  readonly url: string
  /** A former URL of the daemon. Webhooks with this URL are changed to the new one. */
  readonly oldUrl?: string | undefined
  readonly secrets: HookSecrets
  /** The events that the webhooks must send in addition to pipeline and job events. */
  readonly events: HookEvents
  /** Whether to replace existing secrets as well. The platform does not show them, so they cannot be compared. */
  readonly writeSecret: boolean
  readonly dryRun: boolean
  /** Whether to print one JSON document at the end instead of lines. */
  readonly json: boolean
}

/**
 * A webhook's secrets, of which at least one is set. If both are set, the signature proves that the body is authentic, and the token identifies the
 * platform before the body is read.
 */
interface HookSecrets {
  readonly token?: Secret | undefined
  /** The signing secret, in the form `whsec_…`. */
  readonly signingToken?: Secret | undefined
}

interface EnsuredHook {
  /** The project or group, as the caller named it. */
  readonly owner: string
  readonly outcome: Outcome
  /** The webhook's ID. It is undefined if the webhook has not been created or could not be read. */
  readonly hook?: number | undefined
  /** What was wrong with the webhook, or why the command failed for it. */
  readonly reasons?: readonly string[] | undefined
}

type Outcome = 'created' | 'repaired' | 'fine' | 'failed'

/** Creates or repairs webhooks. It continues after a failure. The exit code is 1 if any project or group failed. */
export async function hooksEnsure(
  client: PlatformClient,
  options: HooksEnsureOptions,
  terminal: Terminal,
): Promise<number> {
  const counts: Record<Outcome, number> = { created: 0, repaired: 0, fine: 0, failed: 0 }
  const hooks: EnsuredHook[] = []
  const reported = new Set<string>()
  for await (const [owner, path] of ownersOf(client, options)) {
    const name = plainLine(path)
    const ensured = { owner: name, ...(await ensureOne(client, owner, name, options, terminal, reported)) }
    counts[ensured.outcome] += 1
    if (options.json) hooks.push(ensured)
    else if (ensured.outcome !== 'failed') print(terminal, lineOf(ensured, options))
  }
  const would = options.dryRun ? 'would be ' : ''
  const { created, repaired, fine, failed } = counts
  if (options.json) printJson(terminal, { dryRun: options.dryRun, ...counts, hooks }, 2)
  else print(terminal, `${would}created ${created}, ${would}repaired ${repaired}, fine ${fine}, failed ${failed}`)
  return failed === 0 ? exitCode.done : exitCode.failed
}

async function* ownersOf(
  client: PlatformClient,
  { projects, groups, allProjects }: HooksEnsureOptions,
): AsyncGenerator<[HookOwner, string]> {
  for (const project of projects) yield [{ project: resourceIdOf(project) }, project]
  for (const group of groups) yield [{ group: resourceIdOf(group) }, group]
  if (!allProjects) return
  // A token that may not read its own user does not belong to an administrator.
  const seen = (await unlessRefused(client.isAdministrator(call))) === true ? 'all' : 'maintained'
  for await (const { items } of client.projects(seen, {}, { ...call, max: maxProjects })) {
    for (const { id = 0, path } of items) yield [{ project: id }, path ?? String(id)]
  }
}

async function ensureOne(
  client: PlatformClient,
  owner: HookOwner,
  name: string,
  options: HooksEnsureOptions,
  terminal: Terminal,
  reported: Set<string>,
): Promise<Omit<EnsuredHook, 'owner'>> {
  try {
    const hooks = await existing(client, owner, options)
    const [hook] = hooks
    if (hooks.length > 1) {
      const others = hooks.slice(1).map(({ id }) => id)
      complain(terminal, `${name}: several webhooks have this URL; remove ${others.join(', ')} on the platform.`)
    }
    if (hook === undefined) return await create(client, owner, name, options, terminal, reported)
    if (hook.alertStatus !== undefined && hook.alertStatus !== 'executable') {
      const state = hook.alertStatus.replaceAll('_', ' ')
      complain(
        terminal,
        `${name}: hook ${hook.id} is ${state}: send a test event from the platform to enable it again.`,
      )
    }
    if (hook.hasTemplate) {
      complain(
        terminal,
        `${name}: hook ${hook.id} has a custom payload template, which cannot be decoded: remove it on the platform.`,
      )
    }
    const reasons = whatIsWrong(hook, options, flagsOf(options.events, owner))
    if (reasons.length === 0) {
      complainOfMissing(hook, owner, name, options, terminal, reported)
      return { outcome: 'fine', hook: hook.id }
    }
    const wish = wishOf(options, owner, secretsFor(hook, options))
    // A webhook URL that is partly masked is not changed, because the person who masked it wants those parts hidden.
    const url = hook.mayBeAt(options.url) ? undefined : options.url
    if (!options.dryRun) {
      const edited = await client.editHook(owner, hook.id, { ...wish, url }, call)
      complainOfMissing(edited, owner, name, options, terminal, reported)
    }
    return { outcome: 'repaired', hook: hook.id, reasons }
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    complain(terminal, `${name}: ${error.message}`)
    return { outcome: 'failed', reasons: [error.message] }
  }
}

async function create(
  client: PlatformClient,
  owner: HookOwner,
  name: string,
  options: HooksEnsureOptions,
  terminal: Terminal,
  reported: Set<string>,
): Promise<Omit<EnsuredHook, 'owner'>> {
  const flags = flagsOf(options.events, owner).map(flag => flag.replaceAll('_', ' '))
  const reasons = ['pipeline events', 'job events', ...flags]
  if (options.dryRun) return { outcome: 'created', reasons }
  const created = await client.createHook(owner, wishOf(options, owner, options.secrets), call)
  complainOfMissing(created, owner, name, options, terminal, reported)
  return { outcome: 'created', hook: created.id, reasons }
}

/**
 * Warns about events that the webhook does not send. A platform may report success although it ignored a flag that its webhooks or its tier do not
 * support. `reported` are the unknown events named by an earlier warning, so that each is named only once for all webhooks.
 */
function complainOfMissing(
  hook: PlatformHook,
  owner: HookOwner,
  name: string,
  { events }: HooksEnsureOptions,
  terminal: Terminal,
  reported: Set<string>,
): void {
  const flags = flagsOf(events, owner)
  const unknown = unknownEvents(hook, flags).filter(one => !reported.has(one))
  const missing = [...missingEvents(hook, flags), ...unknown]
  for (const one of unknown) reported.add(one)
  if (missing.length === 0) return
  complain(
    terminal,
    `${name}: hook ${hook.id} does not send ${missing.join(', ')}: the platform does not offer these events for this hook, or only for system hooks.`,
  )
}

function lineOf({ owner, outcome, hook, reasons = [] }: EnsuredHook, { dryRun }: HooksEnsureOptions): string {
  if (outcome === 'fine') return `${owner}: hook ${hook} is fine`
  if (outcome === 'created') {
    const done = dryRun ? 'a hook would be created' : `hook ${hook} created`
    return `${owner}: ${done} (${reasons.join(', ')})`
  }
  return `${owner}: hook ${hook} ${dryRun ? 'would be repaired' : 'repaired'} (${reasons.join(', ')})`
}

/** Returns the existing webhooks: those with the URL first, then those with the old URL. */
async function existing(
  client: PlatformClient,
  owner: HookOwner,
  { url, oldUrl }: HooksEnsureOptions,
): Promise<readonly PlatformHook[]> {
  const { items: found } = await client.hooks(owner, call)
  const withUrl = (wanted: string | undefined) => found.filter(hook => wanted !== undefined && isAt(hook, wanted))
  const current = withUrl(url)
  return current.length > 0 ? current : withUrl(oldUrl)
}

/** `flags` are the events that the webhook must send in addition to pipeline and job events. */
function whatIsWrong(hook: PlatformHook, options: HooksEnsureOptions, flags: readonly string[]): string[] {
  const { url, writeSecret } = options
  const lacks = missingSecrets(hook, options.secrets)
  const all = Object.values(options.secrets).filter(secret => secret !== undefined)
  return [
    isAt(hook, url) ? undefined : 'URL',
    ...missingEvents(hook, flags),
    lacks.token === undefined ? undefined : 'no secret',
    lacks.signingToken === undefined ? undefined : 'no signing token',
    writeSecret && Object.values(lacks).length < all.length ? 'secret replaced' : undefined,
  ].filter(reason => reason !== undefined)
}

/** Returns the secrets to write. With a new URL, all secrets are written, because the platform deletes them when a webhook's URL changes. */
function secretsFor(hook: PlatformHook, { url, secrets, writeSecret }: HooksEnsureOptions): HookSecrets {
  return writeSecret || !isAt(hook, url) ? secrets : missingSecrets(hook, secrets)
}

export function missingSecrets(hook: PlatformHook, { token, signingToken }: HookSecrets): HookSecrets {
  return {
    ...(token !== undefined && hook.tokenPresent === false && { token }),
    ...(signingToken !== undefined && hook.signingTokenPresent === false && { signingToken }),
  }
}

/** Returns the names of the events that are disabled. Events that the platform does not know are left out, because they cannot be enabled. */
export function missingEvents(hook: PlatformHook, flags: readonly string[]): string[] {
  return [
    ...(hook.pipelineEvents ? [] : ['pipeline events']),
    ...(hook.jobEvents ? [] : ['job events']),
    ...flags.filter(flag => hook.events[flag] === false).map(flag => flag.replaceAll('_', ' ')),
  ]
}

/** Returns the names of the events that the platform does not know. */
function unknownEvents(hook: PlatformHook, flags: readonly string[]): string[] {
  return flags.filter(flag => hook.events[flag] === undefined).map(flag => flag.replaceAll('_', ' '))
}

export function flagsOf(events: HookEvents, owner: HookOwner): readonly string[] {
  return events.flags('group' in owner ? 'group' : 'project')
}

function wishOf({ url, events }: HooksEnsureOptions, owner: HookOwner, secrets: HookSecrets): HookWish {
  return { url, pipelineEvents: true, jobEvents: true, events: flagsOf(events, owner), ...secrets }
}

function isAt(hook: PlatformHook, url: string): boolean {
  return spelled(hook.url) === spelled(url) || hook.mayBeAt(url)
}

function spelled(url: string): string {
  return URL.canParse(url) ? new URL(url).href : url
}

const call = { priority: 'poll' } as const
/** The maximum number of projects to list when all projects of an instance are covered. */
const maxProjects = 1_000_000
