// The simulated platform's hooks, and its delivery log, which covers seven days.
import { isDeepStrictEqual } from 'node:util'
import { headersOf, type Delivery, type HeaderOptions } from '../../src/simulator/platform/delivery.ts'
import { offsetPage, type RestPage } from '../../src/simulator/platform/rest-replies.ts'
import type { HooksAsked, RestApi } from '../../src/simulator/platform/rest-api.ts'
import type { Random } from '../../src/simulator/platform/random.ts'

export interface RestHook {
  readonly id: number
  readonly url: string
  /** The names of the masked parts of the hook's URL. */
  readonly masked?: readonly string[]
  /** The path of the group, or the ID of the project, to which the hook belongs. */
  readonly owner: HooksAsked['owner']
}

/** The status of a recorded delivery, such as `500`, or `internal error` if there was no response. */
type RecordedStatus = string

const week = 7 * 24 * 3_600_000
/** The maximum size of a recorded payload, bytes. The platform's delivery log omits larger payloads. */
const maxKept = 1024 * 1024

interface HookRecord {
  readonly id: number
  readonly at: number
  readonly shown: { readonly response_status: RecordedStatus }
}

const known = new WeakMap<RestApi, HookRecords>()

/** Returns the hooks of this platform. From the first call on, the platform responds to requests about them. */
export function hooksOf(api: RestApi): HookRecords {
  const hooks = known.get(api) ?? new HookRecords()
  known.set(api, hooks)
  api.hooks = asked => hooks.answer(asked)
  return hooks
}

class HookRecords {
  readonly hooks: RestHook[] = []
  readonly #records = new Map<number, HookRecord[]>()
  #next = 9_000_001

  /** Adds a delivery and the response to the log. `now` is in Unix ms. */
  record(
    hook: RestHook,
    delivery: Delivery,
    status: RecordedStatus,
    options: HeaderOptions,
    now: number,
    random: Random,
  ): void {
    const headers = { ...headersOf(delivery, options, now, random), [`${options.headerPrefix}Token`]: '[REDACTED]' }
    const shown = {
      id: this.#next,
      url: hook.url,
      trigger: `${delivery.kind}_hooks`,
      request_headers: headers,
      request_data: delivery.body.length > maxKept ? { oversize: true } : (JSON.parse(delivery.body) as unknown),
      response_headers: {},
      response_body: '',
      execution_duration: 0.2,
      response_status: status,
    }
    const records = this.#records.get(hook.id) ?? []
    records.unshift({ id: this.#next++, at: now, shown })
    this.#records.set(hook.id, records)
  }

  /** Returns the response to a request about hooks. Undefined if there is no such hook. */
  answer({ owner, id, url, now }: HooksAsked): RestPage | undefined {
    const own = this.hooks.filter(hook => isDeepStrictEqual(hook.owner, owner))
    if (id === undefined) return offsetPage(own.map(restHook), url)
    const hook = own.find(one => one.id === Number(id))
    return hook && offsetPage(this.deliveries(hook.id, url.searchParams.get('status'), now), url)
  }

  /** Returns the deliveries of a hook, newest first. `status`: a value of the API's query parameter, such as `server_failure` or `503`. */
  deliveries(hookId: number, status: string | null, now: number): unknown[] {
    const ranges: Readonly<Record<string, readonly [number, number]>> = {
      successful: [200, 299],
      client_failure: [400, 499],
      server_failure: [500, 599],
    }
    const [from, to] = status === null ? [-Infinity, Infinity] : (ranges[status] ?? [Number(status), Number(status)])
    const recent = (this.#records.get(hookId) ?? []).filter(({ at }) => at > now - week)
    const fits = ({ shown }: HookRecord): boolean => {
      const code = Number(shown.response_status)
      return status === null || (code >= from && code <= to)
    }
    return recent.filter(fits).map(({ shown }) => shown)
  }
}

function restHook({ id, url, masked = [] }: RestHook): object {
  return {
    id,
    url_variables: masked.map(key => ({ key })),
    url,
    name: 'Pipespan',
    pipeline_events: true,
    job_events: true,
    push_events: false,
    enable_ssl_verification: true,
    alert_status: 'executable',
    disabled_until: null,
    token_present: true,
    signing_token_present: false,
  }
}
