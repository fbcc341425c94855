// Declares the commands for operating a daemon: `pipespan inbox`, `dead-letters`, `held`, `migrate` and `store`.
import { chosen, example, wholeNumber, withIds, type CommandLine } from '../lib/command-line.ts'
import { requireConfig, withStore } from './configuration.ts'
import { withListOptions, type ListOptions } from './list-limit.ts'
import type { Config } from '../daemon/configuration/options.ts'
import type { ProfileName } from '../daemon/profile.ts'
import type { SharedStore } from '../core/store/ports/store.ts'

interface Json {
  readonly json: boolean
}

export function addOperatingCommands({ program, terminal, file, answer }: CommandLine): void {
  const onStore = <A extends unknown[]>(
    command: (
      opened: { readonly store: SharedStore; readonly config: Config<ProfileName> },
      ...given: A
    ) => Promise<number>,
  ) =>
    answer(async (...given: A) =>
      withStore(terminal, file(), async (store, config) => command({ store, config }, ...given)),
    )
  const storeUrl = () => requireConfig(terminal, file()).config.store.url

  const inbox = program.command('inbox').description('deliveries that could not be decoded')
  example(
    withListOptions(inbox.command('list').description('list quarantined deliveries, newest first')).action(
      onStore(async ({ store }, options: ListOptions) =>
        (await import('./inbox.ts')).inboxList(store.quarantine, terminal, options),
      ),
    ),
    'pipespan inbox list',
  )
  example(
    inbox
      .command('show')
      .description('show a delivery and why it could not be decoded')
      .argument('<id>', 'its ID', wholeNumber)
      .action(
        onStore(async ({ store }, id: number) =>
          (await import('./inbox.ts')).inboxShow(store.quarantine, terminal, id),
        ),
      ),
    'pipespan inbox show 17',
  )
  example(
    withIds(inbox.command('retry').description('decode deliveries again')).action(
      onStore(async ({ store }, ids: number[], options: { all: boolean }) =>
        (await import('./inbox.ts')).inboxRetry(store.quarantine, terminal, chosen(ids, options)),
      ),
    ),
    'pipespan inbox retry --all',
  )

  const dead = program.command('dead-letters').description('exports that a backend refused for good')
  example(
    withListOptions(
      dead.command('list').description("list dead letters with the backend's message, newest first"),
    ).action(
      onStore(async ({ store }, options: ListOptions) =>
        (await import('./dead-letters.ts')).deadLettersList(store.outbox, terminal, options),
      ),
    ),
    'pipespan dead-letters list',
  )
  example(
    dead
      .command('show')
      .description('show the refused export as OTLP/JSON, or the refused notification as it is sent')
      .argument('<id>', 'its ID', wholeNumber)
      .action(
        onStore(async ({ store }, id: number) =>
          (await import('./dead-letters.ts')).deadLettersShow(store.outbox, terminal, id),
        ),
      ),
    'pipespan dead-letters show 4',
  )
  for (const [name, description] of [
    ['retry', 'send dead letters again'],
    ['drop', 'drop dead letters for good'],
  ] as const) {
    example(
      withIds(dead.command(name).description(description)).action(
        onStore(async ({ store }, ids: number[], options: { all: boolean }) =>
          (await import('./dead-letters.ts')).deadLettersChange(store.outbox, terminal, name, chosen(ids, options)),
        ),
      ),
      `pipespan dead-letters ${name} 4`,
    )
  }

  const held = program
    .command('held')
    .description('exports that are held because the endpoint of their destination has changed')
  example(
    held
      .command('list')
      .description('list held exports and the endpoint that they were meant for')
      .option('--json', 'print JSON, for scripts', false)
      .action(
        onStore(async ({ store }, options: Json) => (await import('./held.ts')).heldList(store, terminal, options)),
      ),
    'pipespan held list',
  )
  for (const [name, description] of [
    ['confirm', 'send held exports to the current endpoint of the destination'],
    ['drop', 'drop held exports for good'],
  ] as const) {
    example(
      held
        .command(name)
        .description(description)
        .argument('<destination>', 'the name of the destination')
        .action(
          onStore(async (opened, destination: string) =>
            (await import('./held.ts')).heldChange(opened, terminal, name, destination),
          ),
        ),
      `pipespan held ${name} tempo`,
    )
  }

  example(
    program
      .command('migrate')
      .description("migrate the store to this version's schema; a starting daemon does this too")
      .action(answer(async () => (await import('./store.ts')).migrate(terminal, storeUrl()))),
    'pipespan migrate',
  )

  const store = program.command('store').description('copy or back up the store')
  example(
    store
      .command('copy')
      .description(
        'copy everything into another, empty store; stop the daemon first; if interrupted, run the command again to resume',
      )
      .argument('<from>', 'source: a store URL (see PIPESPAN_STORE_URL), or `configured`')
      .argument('<to>', 'target: a store URL, or `configured`')
      .option('--json', 'print JSON, for scripts', false)
      .action(
        answer(async (from: string, to: string, options: Json) => {
          const { locationOf, storeCopy } = await import('./store.ts')
          return storeCopy(terminal, locationOf(from, storeUrl), locationOf(to, storeUrl), options)
        }),
      ),
    'PIPESPAN_STORE_URL=postgres://… pipespan store copy sqlite:./data/pipespan.db configured',
  )
  example(
    store
      .command('backup')
      .description('back up the SQLite file; works while the daemon runs')
      .argument('<file>', 'a new file')
      .action(answer(async (target: string) => (await import('./store.ts')).storeBackup(terminal, storeUrl(), target))),
    'pipespan store backup pipespan-backup.db',
  )
}
