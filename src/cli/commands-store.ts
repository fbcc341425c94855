// The command line of `pipespan migrate` and `pipespan store`.
import { example, type CommandLine } from './command-line.ts'
import { requireConfig } from './configuration.ts'

export function addStoreCommands({ program, terminal, file, answer }: CommandLine): void {
  const configured = () => requireConfig(terminal, file()).config.store.url
  example(
    program
      .command('migrate')
      .description("migrate the store to this version's schema before daemons start; a daemon that starts does so too")
      .action(answer(async () => (await import('./store.ts')).migrate(terminal, configured()))),
    'pipespan migrate',
  )

  const store = program.command('store').description('the store as a whole')
  example(
    store
      .command('copy')
      .description('copy everything into another, empty store; run it again to resume. Stop the daemon first')
      .argument('<from>', 'the URL of a store as PIPESPAN_STORE_URL takes it, or `configured`')
      .argument('<to>', 'the URL of the store to copy to, or `configured`')
      .option('--json', 'for scripts', false)
      .action(
        answer(async (from: string, to: string, options: { json: boolean }) => {
          const { locationOf, storeCopy } = await import('./store.ts')
          return storeCopy(terminal, locationOf(from, configured), locationOf(to, configured), options)
        }),
      ),
    'PIPESPAN_STORE_URL=postgres://… pipespan store copy sqlite:./data/pipespan.db configured',
  )
  example(
    store
      .command('backup')
      .description('back up the SQLite file, also while the daemon runs')
      .argument('<file>', 'a new file')
      .action(
        answer(async (target: string) => (await import('./store.ts')).storeBackup(terminal, configured(), target)),
      ),
    'pipespan store backup pipespan-backup.db',
  )
}
