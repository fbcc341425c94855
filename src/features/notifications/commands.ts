// The command line of `pipespan notify`.
import { example } from '../../lib/command-line.ts'
import { notificationDestinations } from './destinations.ts'
import type { ConfiguredLine } from '../../daemon/feature.ts'
import type { NotificationOptions } from './options.ts'

export function addNotifyCommand({ program, terminal, configured, answer }: ConfiguredLine<NotificationOptions>): void {
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
