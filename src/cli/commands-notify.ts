// The command line of `pipespan notify`.
import { example, type CommandLine } from './command-line.ts'
import { requireConfig } from './configuration.ts'

export function addNotifyCommand({ program, terminal, file, answer }: CommandLine): void {
  example(
    program
      .command('notify')
      .description('send a test message to one of the configured notifications')
      .argument('<name>', 'its name')
      .action(
        answer(async (name: string) => {
          const { config } = requireConfig(terminal, file())
          return (await import('./notify.ts')).notify(name, config, terminal)
        }),
      ),
    'pipespan notify payments-chat',
  )
}
