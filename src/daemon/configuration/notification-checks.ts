// Checks of notifications: e-mails need recipients, and what a message is about must be observed.
import type { Config } from './options.ts'
import type { ConfigFault, FaultOf } from './config-fault.ts'

export function wrongNotifications({ notifications }: Config, faultOf: FaultOf): ConfigFault[] {
  return notifications.flatMap(({ format, to = [] }, index) => {
    if (format !== 'email' || to.length > 0) return []
    const path = `notifications[${index}]`
    const fault = faultOf(`${path}.format`, 'E-mails have no recipient.', 'List their addresses in `to`.')
    return [{ ...fault, setting: `${path}.to` }]
  })
}

/** What is named and cannot happen under this configuration. Without `of` nothing was named. */
export function silentNotifications({ notifications, events, regressions, tests }: Config): string[] {
  const needs = [
    [
      'deployments',
      events.includes('deployment'),
      'Add deployment to PIPESPAN_EVENTS: only webhooks report that a deployment failed.',
    ],
    ['regressions', regressions.enabled, 'Turn on regressions.enabled (PIPESPAN_REGRESSIONS_ENABLED).'],
    ['flaky-tests', tests, 'Turn on tests (PIPESPAN_TESTS): test reports show which tests are flaky.'],
  ] as const
  return notifications.flatMap(({ of = [] }, index) =>
    needs.flatMap(([subject, isObserved, remedy]) =>
      of.includes(subject) && !isObserved
        ? [`notifications[${index}].of: Nothing is known about ${subject} under this configuration. ${remedy}`]
        : [],
    ),
  )
}
