// Checks of notifications in the configuration: unique names, recipients of e-mails, and that what a message is about is observed.
import type { ConfigFault, FaultOf } from '../../daemon/configuration/config-fault.ts'
import type { NotificationOptions } from './options.ts'
import type { Unreported } from '../../daemon/feature.ts'

/** With options of the core and of other features. Without one of those its options are not there. */
interface WithOthers extends NotificationOptions {
  readonly destinations: readonly { readonly name: string }[]
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
export function silentNotifications({ notifications, tests }: WithOthers, unreported: Unreported): string[] {
  const reports = 'Turn on tests (PIPESPAN_TESTS): test reports show which tests are flaky.'
  const all: Unreported = { ...unreported, ...(tests === false && { 'flaky-tests': reports }) }
  return notifications.flatMap(({ of = [] }, index) =>
    of.flatMap(subject => {
      const remedy = all[subject]
      if (remedy === undefined) return []
      return `notifications[${index}].of: Nothing is known about ${subject} under this configuration. ${remedy}`
    }),
  )
}
