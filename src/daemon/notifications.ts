// Turns the configured notifications into destinations, and into rules for what is sent to them; starts what looks after standing conditions.
import { isChoice, projectChooser, type PlatformOf } from '../lib/chooser.ts'
import { contentTypeOf, encodeNotification } from '../features/notifications/formats.ts'
import { createNotifier, type Notifier } from '../features/notifications/notifier.ts'
import { createSingleton } from '../core/find/singleton.ts'
import { createStandingWatch } from '../features/notifications/standing-watch.ts'
import { createTextRedaction } from '../lib/text-redaction.ts'
import { notificationSubjects } from './configuration/notification-options.ts'
import { platformNames, profileBy } from './connections.ts'
import { proxiesOf } from './configuration/destinations.ts'
import { redact, Secret } from '../lib/secret.ts'
import { startLoop, type Started } from './steps.ts'
import type { Config } from './configuration/options.ts'
import { messageIdOf, type ConditionKind } from '../model/condition.ts'
import type { Context } from './context.ts'
import type { Standing } from './feature.ts'
import type { Destination } from '../core/send/destination.ts'
import type { Loop } from '../lib/loop.ts'
import type { Route } from '../model/route.ts'
import type { Wiring } from './wiring.ts'

type Configured = Config['notifications'][number]

/** Gateways that know the header skip a repeated message. The template is filled for each message. */
const idempotencyKey = new Secret('{message.id}')

/** Their addresses are secrets: `signals` must not be shown. */
export function notificationDestinations(config: Config): Destination[] {
  return config.notifications.map(one => {
    const { name, url, headers, format, from, to = [] } = one
    return {
      name,
      signals: {
        notifications: {
          get url() {
            return url.current()?.reveal() ?? ''
          },
          get headers() {
            return { 'idempotency-key': idempotencyKey, ...Object.fromEntries(headers.current() ?? []) }
          },
          isSecret: true,
          timeoutMs: config.otlp.timeout,
          compression: 'none',
          contentType: contentTypeOf(format),
        },
      },
      takes: takesOf(one, platformNames(config)),
      // A request has one message, because each has another value.
      headerValues: (_, key = '') => ({ 'message.id': messageIdOf(key) }),
      encode: encodeNotification(format, { from, to }),
      proxy: proxiesOf(config),
    }
  })
}

/** As maintenance needs them: what is pending for others is dropped in time. */
export function notificationQueues(destinations: readonly Destination[]): Route<'notifications'>[] {
  return destinations.map(({ name }) => ({ destination: name, signal: 'notifications' }))
}

function takesOf({ projects }: Configured, platformOf: PlatformOf): Route['takes'] {
  if (!isChoice(projects)) return undefined
  const isChosen = projectChooser(projects, platformOf)
  return ({ path, instance = '' }) => path !== undefined && isChosen(path, instance)
}

/** Stores since when each rule exists, because what happened before is not sent. */
export async function createNotifications({ config, store }: Pick<Context, 'config' | 'store'>): Promise<Notifier> {
  const rules = store.repositories.notificationRules
  const routes = await Promise.all(
    config.notifications.map(async one => {
      const { name, of = notificationSubjects } = one
      const since = await rules.change({ name }, (known, now) => {
        const document = known ?? { name, since: now }
        return { document, result: document.since }
      })
      return { name, of: of satisfies readonly ConditionKind[], takes: takesOf(one, platformNames(config)), since }
    }),
  )
  const redactText = createTextRedaction(config.redact ?? [])
  return createNotifier(routes, text => redact(redactText(text)), profileBy(config))
}

/** `standing`: those of features. The part is undefined if no rule is about such conditions. */
export function startStandingWatch(
  { store, events, notifier, clock, log }: Wiring,
  destinations: readonly Pick<Destination, 'name'>[],
  standing: readonly Standing[],
): Started<Loop | undefined> {
  const why = 'standing conditions are looked at after the next start'
  const others = standing.filter(({ kind }) => notifier.isAbout(kind))
  if (!notifier.isAbout('dead-letters') && others.length === 0) return startLoop(undefined, why)
  const part = createStandingWatch({
    ...{ notifier, runs: store.runs, outbox: store.outbox, conditions: store.repositories.conditions, clock, log },
    destinations: destinations.map(({ name }) => name),
    standing: others.map(({ look }) => look),
    lease: createSingleton('notifications', store.leases, clock),
    onMessage: () => events.pending.emit(),
  })
  return startLoop(part, why)
}
