// The command line: names, options and help of every command. What a command does is in its own file, loaded when needed.
import { Command, CommanderError, InvalidArgumentError } from 'commander'
import { complain, exitCode, type Terminal } from './terminal.ts'
import { environmentHelp } from '../config/environment-help.ts'
import { Fault } from '../lib/fault.ts'
import { Misconfigured, requireConfig, withStore } from './configuration.ts'
import { profiles } from '../platform/profile.ts'
import { version } from '../lib/version.ts'
import type { FrozenPart } from '../model/frozen.ts'

/** Runs the command line; answers the exit code. */
export async function runProgram(args: readonly string[], terminal: Terminal = process): Promise<number> {
  let code: number = exitCode.done
  /** Wraps a command: its exit code is the program's. */
  const answer =
    <A extends unknown[]>(command: (...given: A) => Promise<number> | number) =>
    async (...given: A): Promise<void> => {
      code = await command(...given)
    }
  const program = buildProgram(terminal, answer)
  try {
    await program.parseAsync([...args], { from: 'user' })
    return code
  } catch (error) {
    if (error instanceof CommanderError && error.code === 'pipespan.ids') complain(terminal, error.message)
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitCode.done : exitCode.misused
    if (!(error instanceof Fault)) throw error
    complain(terminal, error.message)
    return error instanceof Misconfigured ? error.exitCode : exitCode.failed
  }
}

type Answer = <A extends unknown[]>(
  command: (...given: A) => Promise<number> | number,
) => (...given: A) => Promise<void>

function buildProgram(terminal: Terminal, answer: Answer): Command {
  const program = new Command('pipespan')
    .description('Turns every CI/CD pipeline of a GitLab-like platform into OpenTelemetry.')
    .version(version)
    .showHelpAfterError('(see `pipespan --help`)')
    .exitOverride()
    .configureOutput({
      writeOut: text => terminal.stdout.write(text),
      writeErr: text => terminal.stderr.write(text),
    })
    .option('-c, --config <file>', 'the YAML file (else PIPESPAN_CONFIG)')
    .addHelpText(
      'after',
      `
Exit codes: 0 done; 1 failed; 2 the command line or the configuration is wrong.

Try it without a platform or a backend:
  $ pipespan demo
See what a webhook becomes:
  $ pipespan map payload.json`,
    )
  const file = (): string | undefined => program.opts<{ config?: string }>().config
  const example = (command: Command, ...lines: string[]): Command =>
    command.addHelpText('after', `\nExample:\n${lines.map(line => `  $ ${line}`).join('\n')}`)

  example(
    program
      .command('serve')
      .description('run the daemon: take webhooks, export pipelines')
      .action(answer(async () => (await import('./serve.ts')).serve(terminal, { file: file() }))),
    'PIPESPAN_WEBHOOK_TOKEN=… OTEL_EXPORTER_OTLP_ENDPOINT=https://otlp.example.com pipespan serve',
  ).addHelpText('after', () => `\n${environmentHelp(profiles, profiles.generic)}`)

  example(
    program
      .command('map')
      .description('show what a webhook payload becomes, without a backend')
      .argument('<file>', "a file with one webhook's JSON body")
      .option('--event <kind>', 'the event header it came with, such as "Pipeline Hook"')
      .option('--json', 'print OTLP/JSON instead of a tree', false)
      .action(
        answer(async (path: string, options: { event?: string; json: boolean }) => {
          const { config } = requireConfig(terminal, file())
          const { telemetryOf } = await import('../daemon-export.ts')
          return (await import('./map.ts')).mapFile(terminal, { file: path, ...options }, config, telemetryOf(config))
        }),
      ),
    'pipespan map payload.json',
  )

  const config = program.command('config').description('the configuration')
  example(
    config
      .command('check')
      .description('check the configuration: all faults at once, each with its line and a remedy')
      .argument('[file]', 'the YAML file (else --config, else PIPESPAN_CONFIG)')
      .option('--show', 'also print every setting in effect and where it comes from')
      .action(
        answer(async (path: string | undefined, { show }: { show?: boolean }) =>
          (await import('./config-check.ts')).configCheck({ file: path ?? file(), show }, terminal),
        ),
      ),
    'pipespan config check pipespan.yaml',
  )

  const inbox = program.command('inbox').description('deliveries that could not be understood')
  example(
    inbox
      .command('list')
      .description('list them, newest first')
      .option('--json', 'for scripts', false)
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
      .description('show one, as far as it was kept')
      .argument('<id>', 'its number', wholeNumber)
      .action(
        answer(async (id: number) =>
          withStore(terminal, file(), async store => (await import('./inbox.ts')).inboxShow(store.inbox, terminal, id)),
        ),
      ),
    'pipespan inbox show 17',
  )
  example(
    withIds(inbox.command('retry').description('put them back into the inbox')).action(
      answer(async (ids: number[], options: { all: boolean }) =>
        withStore(terminal, file(), async store =>
          (await import('./inbox.ts')).inboxRetry(store.inbox, terminal, chosen(ids, options)),
        ),
      ),
    ),
    'pipespan inbox retry --all',
  )

  const dead = program.command('dead-letters').description('exports that a backend refused for good')
  example(
    dead
      .command('list')
      .description('list them with what the backend said, newest first')
      .option('--json', 'for scripts', false)
      .action(
        answer(async (options: { json: boolean }) =>
          withStore(terminal, file(), async store =>
            (await import('./dead-letters.ts')).deadLettersList(store.exports, terminal, options),
          ),
        ),
      ),
    'pipespan dead-letters list',
  )
  example(
    dead
      .command('show')
      .description('show what was refused, as OTLP/JSON')
      .argument('<id>', 'its number', wholeNumber)
      .action(
        answer(async (id: number) =>
          withStore(terminal, file(), async (store, loaded) => {
            const { telemetryOf } = await import('../daemon-export.ts')
            const { tracesAsJson } = await import('../telemetry/encode.ts')
            const render = ({ part }: { part: FrozenPart }) => tracesAsJson([part], telemetryOf(loaded))
            return (await import('./dead-letters.ts')).deadLettersShow(store.exports, terminal, id, render)
          }),
        ),
      ),
    'pipespan dead-letters show 4',
  )
  for (const [name, says] of [
    ['retry', 'owe them again'],
    ['drop', 'give them up for good'],
  ] as const) {
    example(
      withIds(dead.command(name).description(says)).action(
        answer(async (ids: number[], options: { all: boolean }) =>
          withStore(terminal, file(), async store => {
            const { deadLettersRetry, deadLettersDrop } = await import('./dead-letters.ts')
            const command = name === 'retry' ? deadLettersRetry : deadLettersDrop
            return command(store.exports, terminal, chosen(ids, options))
          }),
        ),
      ),
      `pipespan dead-letters ${name} 4`,
    )
  }
  example(
    program
      .command('demo')
      .description('show the main job on embedded parts: a simulated platform, this daemon, a receiver that draws')
      .option('--once', 'end after the first ten pipelines')
      .option('--seed <number>', 'another day at the simulated company', wholeNumber)
      .action(
        answer(async (options: { once?: boolean; seed?: number }) =>
          (await import('./demo.ts')).demo(options, terminal),
        ),
      ),
    'pipespan demo --once',
  )
  return program
}

/** Numbers of what is meant, or `--all`. */
function withIds(command: Command): Command {
  return command
    .argument('[ids...]', 'their numbers', (text: string, before: number[] | undefined) => [
      ...(before ?? []),
      wholeNumber(text),
    ])
    .option('--all', 'all of them', false)
}

function chosen(ids: readonly number[], { all }: { all: boolean }): readonly number[] | 'all' {
  if (all === ids.length > 0) {
    throw new CommanderError(exitCode.misused, 'pipespan.ids', 'Name the numbers, or say --all.')
  }
  return all ? 'all' : ids
}

function wholeNumber(text: string): number {
  const number = Number(text)
  if (!Number.isSafeInteger(number) || number < 1) throw new InvalidArgumentError('A whole number is needed.')
  return number
}
