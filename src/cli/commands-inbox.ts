// The command line of `pipespan inbox`.
import { chosen, example, wholeNumber, withIds, type CommandLine } from './command-line.ts'
import { withStore } from './configuration.ts'

export function addInboxCommands({ program, terminal, file, answer }: CommandLine): void {
  const inbox = program.command('inbox').description('deliveries that could not be decoded')
  example(
    inbox
      .command('list')
      .description('list quarantined deliveries, newest first')
      .option('--json', 'print JSON, for scripts', false)
      .action(
        answer(async (options: { json: boolean }) =>
          withStore(terminal, file(), async store =>
            (await import('./inbox.ts')).inboxList(store.inbox, terminal, options),
          ),
        ),
      ),
    'pipespan inbox list',
  )
  example(
    inbox
      .command('show')
      .description('show one, and why it could not be decoded')
      .argument('<id>', 'its ID', wholeNumber)
      .action(
        answer(async (id: number) =>
          withStore(terminal, file(), async store => (await import('./inbox.ts')).inboxShow(store.inbox, terminal, id)),
        ),
      ),
    'pipespan inbox show 17',
  )
  example(
    withIds(inbox.command('retry').description('put them back into the inbox, to be decoded again')).action(
      answer(async (ids: number[], options: { all: boolean }) =>
        withStore(terminal, file(), async store =>
          (await import('./inbox.ts')).inboxRetry(store.inbox, terminal, chosen(ids, options)),
        ),
      ),
    ),
    'pipespan inbox retry --all',
  )
}
