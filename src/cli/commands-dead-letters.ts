// The command line of `pipespan dead-letters`.
import { chosen, example, wholeNumber, withIds, type CommandLine } from './command-line.ts'
import { withStore } from './configuration.ts'
import { isEvent, type AnyChunk } from '../model/event.ts'
import type { DeadLetter } from '../store/ports/outbox.ts'

export function addDeadLetterCommands({ program, terminal, file, answer }: CommandLine): void {
  const dead = program.command('dead-letters').description('exports that a backend refused for good')
  example(
    dead
      .command('list')
      .description("list dead letters with the backend's message, newest first")
      .option('--json', 'print JSON, for scripts', false)
      .action(
        answer(async (options: { json: boolean }) =>
          withStore(terminal, file(), async store =>
            (await import('./dead-letters.ts')).deadLettersList(store.outbox, terminal, options),
          ),
        ),
      ),
    'pipespan dead-letters list',
  )
  example(
    dead
      .command('show')
      .description('show what was refused, as OTLP/JSON; a notification as a CloudEvent')
      .argument('<id>', 'its ID', wholeNumber)
      .action(
        answer(async (id: number) =>
          withStore(terminal, file(), async (store, loaded) => {
            const { telemetryOf } = await import('../app/export.ts')
            const { logsAsJson, tracesAsJson } = await import('../telemetry/encode.ts')
            const { notificationAsJson } = await import('../notifications/formats.ts')
            const render = ({ chunk, letter: { signal } }: { chunk: AnyChunk; letter: DeadLetter }) => {
              if (signal === 'notifications') return notificationAsJson(chunk)
              return isEvent(chunk)
                ? logsAsJson([chunk], telemetryOf(loaded))
                : tracesAsJson([chunk], telemetryOf(loaded))
            }
            return (await import('./dead-letters.ts')).deadLettersShow(store.outbox, terminal, id, render)
          }),
        ),
      ),
    'pipespan dead-letters show 4',
  )
  for (const [name, description] of [
    ['retry', 'send them again'],
    ['drop', 'drop them for good'],
  ] as const) {
    example(
      withIds(dead.command(name).description(description)).action(
        answer(async (ids: number[], options: { all: boolean }) =>
          withStore(terminal, file(), async store => {
            const { deadLettersRetry, deadLettersDrop } = await import('./dead-letters.ts')
            const command = name === 'retry' ? deadLettersRetry : deadLettersDrop
            return command(store.outbox, terminal, chosen(ids, options))
          }),
        ),
      ),
      `pipespan dead-letters ${name} 4`,
    )
  }
}
