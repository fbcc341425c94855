// Turns the configured notifications into destinations.
import { contentTypeOf, encodeNotification } from './formats.ts'
import { isChoice, projectChooser, type PlatformOf } from '../../lib/chooser.ts'
import { messageIdOf } from '../../model/condition.ts'
import { Secret } from '../../lib/secret.ts'
import type { Destination } from '../../core/send/destination.ts'
import type { NotificationOptions } from './options.ts'
import type { Route } from '../../model/route.ts'
import type { Surroundings } from '../../daemon/feature.ts'

/** The `Idempotency-Key` header, a template that is filled in for each message. Gateways that support it skip a repeated message. */
const idempotencyKey = new Secret('{message.id}')

/** Returns the destinations of notifications. Their `signals` contain webhook URLs, which are secrets, so they must not be shown. */
export function notificationDestinations(
  { notifications }: NotificationOptions,
  { config, platformOf, proxies }: Pick<Surroundings, 'config' | 'platformOf' | 'proxies'>,
): Destination[] {
  return notifications.map(one => {
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
      takes: takesOf(one, platformOf),
      // A request contains a single message, because the `Idempotency-Key` header differs for each message.
      headerValues: (_, key = '') => ({ 'message.id': messageIdOf(key) }),
      encode: encodeNotification(format, { from, to }),
      proxy: proxies,
    }
  })
}

export function takesOf(
  { projects }: NotificationOptions['notifications'][number],
  platformOf: PlatformOf,
): Route['takes'] {
  if (!isChoice(projects)) return undefined
  const isChosen = projectChooser(projects, platformOf)
  return ({ path, instance = '' }) => path !== undefined && isChosen(path, instance)
}
