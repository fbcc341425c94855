// This process's counters since its start, as the pages show them.
import { z } from 'zod'
import { counts, millis, type Shaped } from '../layout/shape.ts'
import type { Millis } from '../../model/instant.ts'

/**
 * The counters since the daemon's start. `ignored` is by event, `refused` is by reason, and `apiClients` contains the counters of each platform API
 * client.
 */
export const flowShape = z.object({
  startedAt: millis,
  received: z.number(),
  accepted: z.number(),
  duplicate: z.number(),
  ignored: counts,
  refused: z.array(z.object({ reason: z.string(), message: z.string(), count: z.number() })),
  lastAccepted: millis.optional(),
  processed: z.number(),
  unparseable: z.number(),
  excluded: z.number(),
  attempts: z.number(),
  supplements: z.number(),
  unrouted: z.number().describe('Number of snapshots for which no destination is configured.'),
  apiClients: z.record(z.string(), counts),
  platformError: z.object({ what: z.string(), remedy: z.string() }).optional(),
  platformErrors: z
    .array(z.object({ name: z.string(), what: z.string(), remedy: z.string() }))
    .describe('The error of each token whose requests fail, with the name of its platform.'),
  platformAnswered: z.boolean().describe("Whether the platform's API has responded since the daemon started."),
})
export type Flow = Shaped<typeof flowShape>

/** The counters of one part of the daemon, by name. */
type Counts = Readonly<Record<string, number>>

interface FlowSources {
  readonly startedAt: Millis
  readonly webhooks: Pick<Flow, 'received' | 'accepted' | 'duplicate' | 'ignored'> & { readonly refused: Counts }
  readonly lastAccepted: Millis | undefined
  /** The responses to rejected deliveries, by reason. */
  readonly refusals: Readonly<Record<string, { readonly message: string } | undefined>>
  readonly deliveries: { readonly processed: number; readonly unparseable: number; readonly excluded: number }
  readonly snapshots: Pick<Flow, 'attempts' | 'supplements' | 'unrouted'>
  /** The platform API clients, by name; undefined for a client that is not running. */
  readonly platform: Readonly<Record<string, { readonly counters: object } | undefined>>
  readonly platformErrors: readonly {
    readonly name: string
    readonly error: { readonly message: string; readonly remedy: string }
  }[]
  readonly platformAnswered: boolean
}

export function flowOf({
  webhooks: { received, accepted, duplicate, ignored, refused },
  deliveries: { processed, unparseable, excluded },
  snapshots: { attempts, supplements, unrouted },
  ...sources
}: FlowSources): Flow {
  const { startedAt, lastAccepted, refusals, platform, platformErrors, platformAnswered } = sources
  // A platform error's message ends with its remedy, but the pages show the message and the remedy separately.
  const errors = platformErrors.map(({ name, error: { message, remedy } }) => ({
    name,
    what: `${name === 'default' ? '' : `${name}: `}${message.slice(0, -remedy.length).trim()}`,
    remedy,
  }))
  return {
    ...{ startedAt, received, accepted, duplicate, ignored: { ...ignored }, lastAccepted },
    refused: Object.entries(refused).map(([reason, count]) => ({
      reason,
      count,
      message: refusals[reason]?.message ?? reason,
    })),
    ...{ processed, unparseable, excluded, attempts, supplements, unrouted },
    apiClients: Object.fromEntries(
      Object.entries(platform).flatMap(([name, part]) => (part === undefined ? [] : [[name, { ...part.counters }]])),
    ),
    platformAnswered,
    platformError: errors[0] && { what: errors[0].what, remedy: errors[0].remedy },
    platformErrors: errors,
  }
}
