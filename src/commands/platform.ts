// The functions of `src/platform` that commands need in addition to its port. All other files in this folder import nothing but the port from there.
import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { clockOffsetOf, connectRules, proxiedDispatcher } from '../platform/rest/http.ts'
import { createInMemoryBudget } from '../platform/rest/budget.ts'
import { createPlatformClient, type PlatformClientOptions, type RestClient } from '../platform/rest/client.ts'
import { createTextRedaction } from '../lib/text-redaction.ts'
import { everyEvent, selectEvents } from '../platform/webhook/event-selection.ts'
import { maxItems, type ResourceId } from '../platform/port.ts'
import { parseDelivery, type Delivery } from '../platform/webhook/parse-delivery.ts'
import { profiles, type ProfileName } from '../daemon/profile.ts'
import { proxiesOf } from '../daemon/configuration/destinations.ts'
import { segmentOf } from '../platform/rest/api.ts'
import { silentLog } from '../lib/log.ts'
import { systemClock } from '../lib/clock.ts'
import { wantedFactsOf } from '../daemon/platform.ts'
import { version } from '../lib/version.ts'
import { wireId, wireText } from '../platform/rest/wire-field.ts'
import type { Config } from '../daemon/configuration/options.ts'
import type { HookEvents, Parsed } from '../platform/port/webhook.ts'

/** A REST client created by this file. Some of its requests are sent only by commands. */
export type CommandClient = RestClient

type Connection = Pick<PlatformClientOptions, 'url' | 'token' | 'tokenType'> & Partial<PlatformClientOptions>

/** Creates a client with its own API budget and without a log. */
export function commandClient(perMinute: number, connection: Connection): CommandClient {
  return createPlatformClient({
    ...{ concurrency: 4, userAgent: `Pipespan/${version}`, clock: systemClock, log: silentLog() },
    budget: createInMemoryBudget({ perMinute }, systemClock),
    ...connection,
  })
}

/** The timeouts of one request, ms. They are short because a person is waiting for the response. */
const timeouts = { connect: 5_000, answer: 10_000 }

/** Returns the ID of a project or group that was specified by number or by full path. */
export function resourceIdOf(named: string): ResourceId {
  return /^\d+$/.test(named) ? Number(named) : named
}

/** Returns a client for the configured platform; undefined if the platform or its token is not configured. */
export function configuredClient(config: Config): CommandClient | undefined {
  const { url, token, tokenType, budget } = config.platform
  if (url === undefined || token.current() === undefined) return undefined
  return commandClient(budget, {
    ...{ url, token: () => token.current()?.reveal(), tokenType, timeouts },
    ca: caOf(config),
    dispatcher: proxiedDispatcher(url, proxiesOf(config)),
    retry: { tries: 1, refusals: 1, first: 1, max: 1 },
  })
}

function caOf({ platform: { caFile } }: Config): string | undefined {
  return caFile === undefined ? undefined : readFileSync(caFile, 'utf8')
}

/**
 * Returns by how many ms the platform's clock is ahead of this machine's clock. Undefined if the platform does not report its time. Rejects if the
 * platform does not respond.
 */
export async function askClockOffset(config: Config, url: string): Promise<number | undefined> {
  const dispatcher = proxiedDispatcher(url, proxiesOf(config))(connectRules(caOf(config), timeouts.connect))
  try {
    return await clockOffsetOf(url.replace(/\/+$/, ''), dispatcher, timeouts.answer)
  } finally {
    await dispatcher.close()
  }
}

export { harmlessDelivery } from '../platform/webhook/event-kind.ts'

/** Returns the hook events for the values of PIPESPAN_EVENTS. */
export function hookEventsOf(events: readonly string[]): HookEvents {
  return selectEvents(events)
}

/** Parses a payload as the daemon would if all events were selected. */
export function parsePayload(
  delivery: Delivery,
  config: Pick<Config<ProfileName>, 'attributes' | 'platform' | 'traceparent' | 'redact'>,
): Parsed {
  const { platform, traceparent, redact = [] } = config
  return parseDelivery(delivery, {
    ...{ profile: profiles[platform.profile], platformUrl: platform.url, traceparent },
    ...{ events: everyEvent, redactText: createTextRedaction(redact), wanted: wantedFactsOf(config) },
  })
}

const account = z.object({ id: wireId, username: wireText })

/** Finds the service account by name or ID, or creates it. `of`: the group that owns the account, or `instance`. */
export async function ensureServiceAccount(
  client: CommandClient,
  of: string,
  wanted: { readonly name: string; readonly username: string; readonly id: unknown },
): Promise<z.output<typeof account> & { readonly isNew: boolean }> {
  const { name, username, id } = wanted
  const path = of === 'instance' ? '/service_accounts' : `/groups/${segmentOf(of)}/service_accounts`
  const asking = client.asking({ priority: 'poll' })
  const { items } = await asking.all(path, account, {}, maxItems)
  const known = items.find(one => one.username === username || one.id === id)
  return known === undefined
    ? { ...(await asking.post(path, { name, username }, account)), isNew: true }
    : { ...known, isNew: false }
}
