// The platform's webhooks: how they are listed, created and edited, how the daemon recognises its own, and how their stored deliveries are read.
import { z } from 'zod'
import { allOf } from './pages.ts'
import { allEventFlags } from '../webhook/event-selection.ts'
import { knownOf } from '../../model/versioned.ts'
import { maybe, wireFlag, wireId, wireList, wireSeconds, wireText, wireTime } from './wire-field.ts'
import { readVariablesAlone } from '../wanted-facts.ts'
import { segmentOf, type Api } from './api.ts'
import type { Change } from './request.ts'
import type { HookDelivery, HookOwner, HookWish, PlatformClient, PlatformHook } from '../port.ts'

const text = maybe(wireText)
const flag = maybe(wireFlag)

const eventFlags = Object.fromEntries(allEventFlags.map(name => [name, flag]))

function flagsOf(hook: Readonly<Record<string, unknown>>): Record<string, boolean> {
  return Object.fromEntries(
    allEventFlags.flatMap(name => (hook[name] === undefined ? [] : [[name, hook[name] === true]])),
  )
}

const urlVariable = z.object({ key: wireText })

/** Returns the names of the masked parts in a webhook's URL. */
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
 * Whether a webhook's URL has masked parts and may be the same as `wanted`. The platform shows `https://ci.example.com/{path}` but never the text
 * behind `{path}`. Either the host or the path must be shown unmasked, because otherwise every webhook would match.
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

/** Whether `text` consists of these parts in order, with at least one character between adjacent parts. */
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

const oversize = z.object({ oversize: z.literal(true) })

/** The schema of a stored delivery. `names`: the names of the variables that may remain in the body. */
const restDelivery = (names?: ReadonlySet<string>) =>
  z
    .object({
      id: wireId,
      request_headers: z.record(z.string(), z.unknown()).catch({}),
      request_data: z.unknown(),
      response_status: maybe(z.union([wireText, z.number().transform(String)])),
      execution_duration: maybe(wireSeconds),
    })
    .transform((delivery): HookDelivery => {
      const isOversize = oversize.safeParse(delivery.request_data).success
      const headers = Object.entries(delivery.request_headers).flatMap(([name, value]) =>
        typeof value === 'string' ? [[name.toLowerCase(), value] as const] : [],
      )
      const data = isOversize ? undefined : delivery.request_data
      return {
        id: delivery.id,
        headers: Object.fromEntries(headers),
        isOversize,
        ...knownOf({
          body: data === undefined ? undefined : () => Buffer.from(JSON.stringify(data, readVariablesAlone(names))),
          responseStatus: delivery.response_status,
          duration: delivery.execution_duration,
        }),
      }
    })

export type HookCalls = Pick<PlatformClient, 'hooks' | 'createHook' | 'editHook' | 'hookDeliveries'>

/** Creates the webhook calls. `variables`: the names of the variables that may remain in a delivery's body. */
export function hookCalls(api: Api, variables: ReadonlySet<string> | undefined): HookCalls {
  const delivery = restDelivery(variables)
  return {
    hooks: async (owner, call) => allOf(api.pages(hooksPath(owner), restHook, call)),
    createHook: (owner, wish, call) =>
      api.change(hooksPath(owner), restHook, call, { method: 'POST', ...wireHook(wish, { push_events: false }) }),
    editHook: (owner, hookId, wish, call) =>
      api.change(`${hooksPath(owner)}/${hookId}`, restHook, call, { method: 'PUT', ...wireHook(wish) }),
    hookDeliveries: (owner, hookId, call) => api.pages(`${hooksPath(owner)}/${hookId}/events`, delivery, call),
  }
}

function hooksPath(owner: HookOwner): string {
  return 'project' in owner ? `/projects/${segmentOf(owner.project)}/hooks` : `/groups/${segmentOf(owner.group)}/hooks`
}

/**
 * Builds the body of a request that creates or edits a webhook. `defaults`: flags that are only set on a new webhook, such as turning off push
 * events.
 */
function wireHook(wish: HookWish, defaults: Readonly<Record<string, boolean>> = {}): Pick<Change, 'body' | 'secrets'> {
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
