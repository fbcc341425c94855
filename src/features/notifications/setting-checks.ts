// Checks of notifications in the configuration: unique names, recipients of e-mails, and that what a message is about is observed.
import type { ConfigFault, FaultOf } from '../../daemon/configuration/config-fault.ts'
import type { NotificationOptions } from './options.ts'

/** With options of the core and of other features. Without one of those its options are not there. */
interface WithOthers extends NotificationOptions {
  readonly destinations: readonly { readonly name: string }[]
  readonly events: readonly string[]
  readonly regressions?: { readonly enabled: boolean }
  readonly tests?: boolean
}

export function wrongNotifications({ destinations, notifications }: WithOthers, faultOf: FaultOf): ConfigFault[] {
  const names = [...destinations, ...notifications].map(({ name }) => name)
  return notifications.flatMap(({ name, format, to = [] }, index) => {
    const path = `notifications[${index}]`
    // Pending exports and messages are stored under these names.
    const isRepeated = names.indexOf(name) < destinations.length + index
    const noRecipient = faultOf(`${path}.format`, 'E-mails have no recipient.', 'List their addresses in `to`.')
    return [
      ...(isRepeated ? [faultOf(`${path}.name`, `The name ${name} is already used.`, 'Use another name.')] : []),
      ...(format === 'email' && to.length === 0 ? [{ ...noRecipient, setting: `${path}.to` }] : []),
    ]
  })
}

/** What is named and cannot happen under this configuration. Without `of` nothing was named. */
export function silentNotifications({ notifications, events, regressions, tests }: WithOthers): string[] {
  const needs = [
    [
      'deployments',
      events.includes('deployment'),
      'Add deployment to PIPESPAN_EVENTS: only webhooks report that a deployment failed.',
    ],
    ['regressions', regressions?.enabled === true, 'Turn on regressions.enabled (PIPESPAN_REGRESSIONS_ENABLED).'],
    ['flaky-tests', tests === true, 'Turn on tests (PIPESPAN_TESTS): test reports show which tests are flaky.'],
  ] as const
  return notifications.flatMap(({ of = [] }, index) =>
    needs.flatMap(([subject, isObserved, remedy]) =>
      of.includes(subject) && !isObserved
        ? [`notifications[${index}].of: Nothing is known about ${subject} under this configuration. ${remedy}`]
        : [],
    ),
  )
}
