// The platform's webhooks: how they are listed, how the daemon's own are recognised, and the bodies that create and edit them.
import { z } from 'zod'
import { everyFlag } from '../webhook/event-selection.ts'
import { knownOf } from '../../model/versioned.ts'
import { maybe, wireFlag, wireId, wireList, wireText, wireTime } from './wire-field.ts'
import { segmentOf } from './query.ts'
import type { Change } from './request.ts'
import type { HookOwner, HookWish, PlatformHook } from '../port.ts'

const text = maybe(wireText)
const flag = maybe(wireFlag)

export function hooksPath(owner: HookOwner): string {
  return 'project' in owner ? `/projects/${segmentOf(owner.project)}/hooks` : `/groups/${segmentOf(owner.group)}/hooks`
}

/** The body of a request that creates or edits a hook. `defaults`: flags for a new hook only, such as turning off push events. */
export function wireHook(
  wish: HookWish,
  defaults: Readonly<Record<string, boolean>> = {},
): Pick<Change, 'body' | 'secrets'> {
  const [token, signingToken] = [wish.token?.reveal(), wish.signingToken?.reveal()]
  const body = {
    url: wish.url,
    pipeline_events: wish.pipelineEvents,
    job_events: wish.jobEvents,
    ...defaults,
    ...Object.fromEntries((wish.events ?? []).map(flag => [flag, true])),
    token,
    signing_token: signingToken,
  }
  return { body, secrets: [token, signingToken].filter(secret => secret !== undefined) }
}

const eventFlags = Object.fromEntries(everyFlag.map(name => [name, flag]))

function flagsOf(hook: Readonly<Record<string, unknown>>): Record<string, boolean> {
  return Object.fromEntries(everyFlag.flatMap(name => (hook[name] === undefined ? [] : [[name, hook[name] === true]])))
}

const urlVariable = z.object({ key: wireText })

/** Names of the masked parts of a hook's URL. */
function namesOf(variables: readonly unknown[] = []): string[] {
  return variables.flatMap(one => urlVariable.safeParse(one).data?.key ?? [])
}

export const restHook = z
  .object({
    id: wireId,
    url: z.string(),
    pipeline_events: flag,
    job_events: flag,
    ...eventFlags,
    token_present: flag,
    signing_token_present: flag,
    alert_status: text,
    disabled_until: maybe(wireTime),
    custom_webhook_template: text,
    url_variables: maybe(wireList),
  })
  .transform((hook): PlatformHook => ({
    id: hook.id,
    url: hook.url,
    mayBeAt: wanted => maybeAt(hook.url, namesOf(hook.url_variables), wanted),
    pipelineEvents: hook.pipeline_events ?? false,
    jobEvents: hook.job_events ?? false,
    events: flagsOf(hook),
    hasTemplate: hook.custom_webhook_template !== undefined,
    ...knownOf({
      tokenPresent: hook.token_present,
      signingTokenPresent: hook.signing_token_present,
      alertStatus: hook.alert_status,
      disabledUntil: hook.disabled_until,
    }),
  }))

const masked = '\0'

/**
 * Whether the hook's URL has masked parts and may be `wanted`: the platform shows `https://ci.example.com/{path}` and never the text that `{path}`
 * replaces. Either the host or the path must be shown without masks, because otherwise every hook
 * would match.
 */
export function maybeAt(url: string, urlVariables: readonly string[], wanted: string): boolean {
  const template = url.replaceAll(/\{([^{}]{1,255})\}/g, (whole, name: string) =>
    urlVariables.includes(name) ? masked : whole,
  )
  const [shown, asked] = [parted(template), parted(wanted)]
  if (!template.includes(masked) || shown === undefined || asked === undefined) return false
  if (shown.origin.includes(masked) && shown.path.includes(masked)) return false
  return (
    matches(shown.origin.toLowerCase().split(masked), asked.origin.toLowerCase()) &&
    matches(shown.path.split(masked), asked.path)
  )
}

function parted(url: string): { readonly origin: string; readonly path: string } | undefined {
  const [, origin, path] = /^(https?:\/\/[^/]+)(.*?)\/*$/i.exec(url) ?? []
  return origin === undefined || path === undefined ? undefined : { origin, path }
}

/** Whether the text consists of these parts in order, with at least one character between two of them. */
function matches(parts: readonly string[], text: string): boolean {
  const [first = '', ...others] = parts
  const last = others.pop()
  if (last === undefined) return text === first
  if (!text.startsWith(first) || !text.endsWith(last)) return false
  let at = first.length
  for (const part of others) {
    const found = text.indexOf(part, at + 1)
    if (found === -1) return false
    at = found + part.length
  }
  return text.length - last.length > at
}
