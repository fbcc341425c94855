// The command line of `pipespan migrate` and `pipespan store`.
import { example, type CommandLine } from './command-line.ts'
import { requireConfig } from './configuration.ts'

export function addStoreCommands({ program, terminal, file, answer }: CommandLine): void {
  const configured = () => requireConfig(terminal, file()).config.store.url
  example(
    program
      .command('migrate')
      .description("migrate the store to this version's schema; a starting daemon does this too")
      .action(answer(async () => (await import('./store.ts')).migrate(terminal, configured()))),
    'pipespan migrate',
  )

  const store = program.command('store').description('copy or back up the store')
  example(
    store
      .command('copy')
      .description('copy everything into another, empty store; stop the daemon first; run it again to resume')
      .argument('<from>', 'source: a store URL (see PIPESPAN_STORE_URL), or `configured`')
      .argument('<to>', 'target: a store URL, or `configured`')
      .option('--json', 'print JSON, for scripts', false)
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
      .description('back up the SQLite file; works while the daemon runs')
      .argument('<file>', 'a new file')
      .action(
        answer(async (target: string) => (await import('./store.ts')).storeBackup(terminal, configured(), target)),
      ),
    'pipespan store backup pipespan-backup.db',
  )
}
