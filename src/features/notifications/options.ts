// The options for notifications: messages to people by webhook. The options are also validated: names must be unique, e-mails need recipients, and a
// message can only be about something that the daemon observes.
import { projectChoice } from '../../daemon/configuration/project-kinds.ts'
import { destinationName, oneOf, text } from '../../daemon/configuration/plain-kinds.ts'
import { Each, secretSetting, setting } from '../../daemon/configuration/option.ts'
import { headers } from '../../daemon/configuration/pair-kinds.ts'
import { registerSecret, Secret } from '../../lib/secret.ts'
import { list, someOf } from '../../daemon/configuration/list-kinds.ts'
import { hasCredentials, webUrl } from '../../daemon/configuration/address-kinds.ts'
import { kind } from '../../daemon/configuration/kind.ts'
import { conditionKinds, type ConditionKind } from '../../model/condition.ts'
import { notificationFormats } from './formats.ts'
import type { ConfigFault, FaultOf } from '../../daemon/configuration/config-fault.ts'
import type { SliceOf, Unreported } from '../../daemon/feature.ts'

const subjects = Object.keys(conditionKinds) as ConditionKind[]

/** The minimum length of a webhook URL's path. A shorter path cannot be a secret. */
const minSecretPath = 20

/** The URL of a chat webhook is its only credential, so the whole URL is a secret. */
const webhookUrl = kind<Secret>(
  webUrl
    .refine(url => !hasCredentials(url), { abort: true })
    .transform(url => {
      const { pathname, search } = new URL(url)
      const path = pathname + search
      if (path.length >= minSecretPath) registerSecret(path)
      return new Secret(url)
    }),
  {
    noun: 'the secret URL of a webhook',
    remedy: 'Write it in full, such as https://hooks.example.com/…; use headers for credentials.',
    secret: true,
    shape: url => new URL(url.reveal()).origin,
  },
)

const notifications = new Each(
  {
    name: setting(destinationName, { required: true }).describe(
      'Unique name in logs and in the store; no destination may have the same name.',
    ),
    url: secretSetting(webhookUrl, { required: true }).describe(
      'URL to which messages are posted. It is a secret and is never shown.',
    ),
    format: setting(oneOf(notificationFormats), { default: 'cloudevents' }).describe(
      'The body: CloudEvents 1.0 in JSON, a message for Slack and compatible services, or the JSON of an e-mail gateway (`from`, `to`, `subject`, `text`, `headers`).',
    ),
    of: setting(someOf(subjects), { unset: 'all of them' }).describe('Subjects of the messages.'),
    projects: projectChoice(
      ' If it is set, messages that are not about a project or group are not sent to this receiver.',
      { protects: true },
    ),
    headers: secretSetting(headers).describe('Headers of every request.'),
    from: setting(text).describe('Sender of e-mails; by default, the sender of the gateway.'),
    to: setting(list).describe('Recipients of e-mails.'),
  },
  'Messages to people, by webhook: one when something breaks and one when it works again. See docs/notifications.md.',
)

export const notificationOptions = { Notifications: { notifications } }

export type NotificationOptions = SliceOf<typeof notificationOptions>

/** The notification options, together with the options of the core and of other features. If a feature is missing, its options are missing too. */
interface WithOthers extends NotificationOptions {
  readonly destinations: readonly { readonly name: string }[]
  readonly tests?: boolean
}

export function wrongNotifications({ destinations, notifications }: WithOthers, faultOf: FaultOf): ConfigFault[] {
  const names = [...destinations, ...notifications].map(({ name }) => name)
  return notifications.flatMap(({ name, format, to = [] }, index) => {
    const path = `notifications[${index}]`
    // Names must be unique, because pending exports and messages are stored under the names of their destinations.
    const isRepeated = names.indexOf(name) < destinations.length + index
    const noRecipient = faultOf(`${path}.format`, 'E-mails have no recipient.', 'List their addresses in `to`.')
    return [
      ...(isRepeated ? [faultOf(`${path}.name`, `The name ${name} is already used.`, 'Use another name.')] : []),
      ...(format === 'email' && to.length === 0 ? [{ ...noRecipient, setting: `${path}.to` }] : []),
    ]
  })
}

/**
 * Returns a warning for each subject in `of` about which no message can be sent with this configuration. A notification without `of` causes no
 * warning.
 */
export function silentNotifications({ notifications, tests }: WithOthers, unreported: Unreported): string[] {
  const reports = 'Turn on tests (PIPESPAN_TESTS): test reports show which tests are flaky.'
  const all: Unreported = { ...unreported, ...(tests === false && { 'flaky-tests': reports }) }
  return notifications.flatMap(({ of = [] }, index) =>
    of.flatMap(subject => {
      const remedy = all[subject]
      if (remedy === undefined) return []
      return `notifications[${index}].of: With this configuration, there are no messages about ${subject}. ${remedy}`
    }),
  )
}
