// Notices about problems that need attention. Each notice has one sentence about what is wrong and one about what to do. The functions in this file
// are pure.
import { z } from 'zod'
import type { Shaped } from '../layout/shape.ts'
import { ago, counted, duration } from '../layout/format.ts'
import { heldFor } from '../../model/route.ts'
import type { Flow } from './flow.ts'
import type { ExportQueueStatus } from '../exports/columns.ts'
import type { ConfigStatus, Setup } from '../sources/setup-shape.ts'
import { earliest, type Millis } from '../../model/instant.ts'

export const noticeShape = z.object({
  level: z.enum(['problem', 'hint']),
  what: z.string(),
  remedy: z.string(),
  more: z.string().optional(),
})
/** `more` is the path of a page with details. */
export type Notice = Shaped<typeof noticeShape>

export interface Health {
  readonly flow: Flow
  /** The number of deliveries that could not be decoded. */
  readonly quarantined: number
  readonly queues: readonly ExportQueueStatus[]
  readonly setup: Setup
  /** The names of our webhooks that the platform has disabled. */
  readonly hooksOff: readonly string[]
  /** Whether any pipeline is stored. */
  readonly hasRuns: boolean
  /** The status of configuration reloads; undefined if the configuration is never reloaded. */
  readonly config?: ConfigStatus | undefined
}

export function noticesOf(health: Health, now: Millis): Notice[] {
  return [...exportNotices(health, now), ...sourceNotices(health, now), ...configNotices(health, now)]
}

const problem = (what: string, remedy: string, more?: string): Notice => ({ level: 'problem', what, remedy, more })
const hint = (what: string, remedy: string): Notice => ({ level: 'hint', what, remedy })

function configNotices({ config }: Health, now: Millis): Notice[] {
  const { refused, restart = [] } = config ?? {}
  const notices: Notice[] = []
  if (refused !== undefined) {
    const what = `The changed configuration was not applied ${ago(refused.at, now)}: ${refused.faults.join(' ')}`
    notices.push(problem(what, 'Correct it and send SIGHUP; until then, the previous configuration stays in use.'))
  }
  if (restart.length > 0) {
    const what = `Changed in the configuration, but not in use: ${restart.join(', ')}.`
    notices.push(hint(what, 'Restart the daemon to apply these settings.'))
  }
  return notices
}

const setEndpoint = 'set OTEL_EXPORTER_OTLP_ENDPOINT to the OTLP/HTTP endpoint of your backend'

function exportNotices({ queues, setup }: Health, now: Millis): Notice[] {
  const notices = together(queues).flatMap(alike => queueNotice(alike, now) ?? [])
  const dead = queues.reduce((sum, queue) => sum + queue.dead, 0)
  if (dead > 0) {
    const what = `${counted(dead, 'export was', 'exports were')} refused for good by a backend.`
    notices.push(problem(what, 'Read the backend’s errors, then send the exports again or drop them.', '/exports'))
  }
  if (setup.isExportOff) {
    const what = 'Nothing is exported (PIPESPAN_OBSERVABILITY_EXPORT=none).'
    notices.push(hint(what, `To export, ${setEndpoint}, and remove \`none\`.`))
  } else if (setup.destinations.length === 0) {
    notices.push(problem('No destination is configured: nothing is exported.', `To export, ${setEndpoint}.`))
  }
  return notices
}

/** The signals of a destination that have the same problem. One notice covers all of them. */
interface AlikeQueues extends Omit<ExportQueueStatus, 'signal'> {
  readonly signals: string
}

function together(queues: readonly ExportQueueStatus[]): AlikeQueues[] {
  const alike = Map.groupBy(queues, ({ destination, state, cause, lastError }) =>
    JSON.stringify([destination, state, cause, lastError?.status, lastError?.message]),
  )
  return [...alike.values()].flatMap(some => {
    const [first] = some
    return first === undefined
      ? []
      : {
          ...first,
          signals: enumerated(some.map(queue => queue.signal)),
          pending: some.reduce((sum, queue) => sum + queue.pending, 0),
          oldest: earliest(some.map(queue => queue.oldest)),
          nextTry: earliest(some.map(queue => queue.nextTry)),
        }
  })
}

/** Joins words into a list: `traces`, `traces and logs`, `traces, metrics and logs`. */
function enumerated(words: readonly string[]): string {
  const last = words.at(-1) ?? ''
  return words.length < 2 ? last : `${words.slice(0, -1).join(', ')} and ${last}`
}

function queueNotice(
  { destination, signals, state, cause, pending, oldest, lastError, nextTry }: AlikeQueues,
  now: Millis,
): Notice | undefined {
  const message = lastError?.message.replace(/\.$/, '')
  const messageSuffix =
    message === undefined ? '' : ` The last error: ${[lastError?.status, message].filter(Boolean).join(', ')}.`
  const again = nextTry === undefined || nextTry <= now ? 'soon' : `in ${duration(nextTry - now)}`
  const waiting = `${counted(pending, 'export is', 'exports are')} pending for "${destination}"`
  switch (state === 'unserved' || state === 'held' ? state : cause) {
    case 'unauthorized':
      return problem(
        `"${destination}" does not accept the credentials for ${signals}.${messageSuffix}`,
        `Configure a valid token; it is used at once. Nothing is lost: ${waiting}.`,
        '/tokens',
      )
    case 'unacceptable':
      return problem(
        `"${destination}" has refused every single export of ${signals} since the start.${messageSuffix}`,
        `Check that its endpoint is an OTLP/HTTP receiver. Nothing is lost: ${waiting}, and one is tried ${again}.`,
        '/exports',
      )
    case 'unserved':
      return problem(
        `${waiting} (${signals}), which is no longer configured.`,
        'Configure a destination with that name again, or wait until these exports are pruned (PIPESPAN_RETENTION).',
        '/exports',
      )
    case 'held': {
      const name = heldFor(destination) ?? destination
      return problem(
        `${counted(pending, 'export is', 'exports are')} held for the previous endpoint of "${name}" (${signals}).`,
        `Send them to the new endpoint with \`pipespan held confirm ${name}\`, or drop them with \`pipespan held drop ${name}\`.`,
        '/exports',
      )
    }
    case 'unavailable':
      return problem(
        `"${destination}" does not accept ${signals} at the moment.${messageSuffix}`,
        `Next attempt ${again}; ${waiting}, the oldest from ${ago(oldest, now)}. If this persists, check the backend.`,
        '/exports',
      )
    default:
      return undefined
  }
}

function sourceNotices({ flow, setup, hasRuns, hooksOff, quarantined }: Health, now: Millis): Notice[] {
  const notices: Notice[] = []
  const found = (what: string, remedy: string): unknown => notices.push(problem(what, remedy, '/sources'))
  if (quarantined > 0) {
    found(
      `${counted(quarantined, 'delivery', 'deliveries')} could not be decoded and ${quarantined === 1 ? 'is' : 'are'} quarantined.`,
      'See the reasons on the Sources page or with `pipespan inbox list`; retry them after an upgrade.',
    )
  }
  for (const { reason, message, count } of flow.refused) {
    const what = `${counted(count, 'delivery was', 'deliveries were')} refused since the start: ${message}`
    if (count > 0) found(what, refusalRemedies[reason] ?? 'The log names the sender of each delivery.')
  }
  if (hooksOff.length > 0) {
    found(
      `The platform has switched off ${hooksOff.length === 1 ? 'a hook' : `${hooksOff.length} hooks`}, and sends nothing: ${hooksOff.join(', ')}.`,
      'Check on the platform why the deliveries failed, fix the cause, and send a test event, which switches the webhook on again.',
    )
  }
  for (const { what, remedy } of flow.platformErrors) found(what, remedy)
  if (flow.received === 0 && !hasRuns) {
    const what = `Nothing has arrived yet; the daemon started ${ago(flow.startedAt, now)}.`
    notices.push(
      hint(
        what,
        `Add a webhook for pipeline events and job events that points at ${setup.webhooks}, with the same secret token as here.`,
      ),
    )
  }
  return notices
}

const refusalRemedies: Readonly<Record<string, string>> = {
  token:
    'Set the webhook’s secret token to the value of PIPESPAN_WEBHOOK_TOKEN, then send a test event from the platform.',
  signature: 'Set the webhook’s signing token to the value of PIPESPAN_WEBHOOK_SIGNING_TOKEN.',
  timestamp: 'Synchronize the clocks of the platform and of this machine (NTP).',
  full: 'Raise PIPESPAN_STORE_MAX_SIZE, or shorten PIPESPAN_RETENTION.',
  store:
    'Check the store’s disk or database. To recover the refused deliveries, use the platform’s resend button, polling or pipespan backfill.',
  budget:
    'Too many large bodies arrived at once for the memory limit. To recover them, use the platform’s resend button, polling or pipespan backfill.',
}
