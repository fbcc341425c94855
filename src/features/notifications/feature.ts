// Notifies people by webhook: with one message when something breaks, and one when it works again. Whatever can break is a condition
// (`model/condition.ts`). Any feature reports a condition to the context's `notifier` within its own transaction. The configured rules decide who is
// notified (`notifier.ts`). The state of the condition decides whether there is a message (`incident.ts`, read it first; `condition-reporter.ts`
// writes it). A message waits in the outbox like any export, for a destination with its own format (`destinations.ts`, `formats.ts`). `pipespan
// notify` sends a test message.
import { createRules } from './notifier.ts'
import { createSingleton } from '../../core/find/rounds.ts'
import { createStandingWatch } from './standing-watch.ts'
import { example } from '../../lib/command-line.ts'
import { feature } from '../../daemon/feature.ts'
import type { ConfiguredLine } from '../../daemon/feature-commands.ts'
import { knownConditions } from './documents.ts'
import { notificationDestinations } from './destinations.ts'
import { notificationOptions, silentNotifications, wrongNotifications, type NotificationOptions } from './options.ts'
import { ofAnnouncedToken, ofDefaultBranch } from './conditions.ts'

export const notifications = feature({
  name: 'notifications',
  options: notificationOptions,
  faults: wrongNotifications,
  warnings: silentNotifications,
  messages: notificationDestinations,
  notifier: createRules,
  lineStep: (_, { notifier }) => ({
    onSnapshot: notifier.isAbout('default-branch') ? chunk => notifier.reports(ofDefaultBranch(chunk)) : undefined,
    onEvent: (event, receivedAt) => notifier.reports(ofAnnouncedToken(event, receivedAt)),
  }),
  parts: [
    {
      why: 'ongoing conditions are checked after the next start',
      create: (options, context) => {
        const { store, events, notifier, clock, log } = context
        const standing = context.standing().filter(({ kind }) => notifier.isAbout(kind))
        if (!notifier.isAbout('dead-letters') && standing.length === 0) return undefined
        const all = [...context.destinations, ...notificationDestinations(options, context)]
        return createStandingWatch({
          ...{ notifier, runs: store.runs, outbox: store.outbox, conditions: store.repositories.of(knownConditions) },
          destinations: all.map(({ name }) => name),
          standing: standing.map(({ currentConditions }) => currentConditions),
          lease: createSingleton('notifications', store.leases, clock),
          onMessage: () => events.pending.emit(),
          ...{ clock, log },
        })
      },
    },
  ],
  commands: addNotifyCommand,
  checks: [
    {
      name: 'notifications',
      run: async (options, surroundings) =>
        (await import('./notify-command.ts')).checkNotifications(notificationDestinations(options, surroundings)),
    },
  ],
})

function addNotifyCommand({ program, terminal, configured, answer }: ConfiguredLine<NotificationOptions>): void {
  example(
    program
      .command('notify')
      .description('send a test message to one of the configured notifications')
      .argument('<name>', 'its name')
      .action(
        answer(async (name: string) => {
          const { options, ...surroundings } = await configured()
          const { notify } = await import('./notify-command.ts')
          return notify(name, notificationDestinations(options, surroundings), terminal)
        }),
      ),
    'pipespan notify payments-chat',
  )
}
