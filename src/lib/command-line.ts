// Option parsers, help examples and errors that all command files share.
import { type Command, CommanderError, InvalidArgumentError } from 'commander'
import { Fault } from './fault.ts'
import { exitCode, type Terminal } from './terminal.ts'

/** Thrown if the configuration cannot be used. The message lists every problem on its own line. */
export class Misconfigured extends Fault {
  readonly exitCode = exitCode.misused
}

/** The context that is passed to every group of commands. */
export interface CommandLine {
  readonly program: Command
  readonly terminal: Terminal
  /** Returns the path given with `--config`. */
  readonly file: () => string | undefined
  /** Wraps a command so that its exit code becomes the program's exit code. */
  readonly answer: <A extends unknown[]>(
    command: (...given: A) => Promise<number> | number,
  ) => (...given: A) => Promise<void>
}

/** Adds examples to a command's help. */
export function example(command: Command, ...lines: string[]): Command {
  return command.addHelpText('after', `\nExample:\n${lines.map(line => `  $ ${line}`).join('\n')}`)
}

/** Adds the arguments that select entries: their ids, or `--all`. */
export function withIds(command: Command): Command {
  return command
    .argument('[ids...]', 'their IDs', (text: string, before: number[] | undefined) => [
      ...(before ?? []),
      wholeNumber(text),
    ])
    .option('--all', 'all of them', false)
}

/** Returns the ids that were given as arguments, or `all` if `--all` was given. Throws a misuse error if both or neither were given. */
export function chosen(ids: readonly number[], { all }: { all: boolean }): readonly number[] | 'all' {
  if (all === ids.length > 0) throw misuse('Give their IDs, or --all.')
  return all ? 'all' : ids
}

/** A command-line error that commander does not detect itself. The program then exits with code 2. */
export function misuse(sentence: string): CommanderError {
  return new CommanderError(exitCode.misused, misuseCode, sentence)
}

export const misuseCode = 'pipespan.misuse'

/** Parses a whole number of at least 1. */
export function wholeNumber(text: string): number {
  const number = Number(text)
  if (!Number.isSafeInteger(number) || number < 1) throw new InvalidArgumentError('The value must be a whole number.')
  return number
}

/** Returns the value unchanged if it is an http or https URL. Throws InvalidArgumentError otherwise. */
export function webAddress(text: string): string {
  if (/^https?:\/\/./.test(text) && URL.canParse(text)) return text
  throw new InvalidArgumentError('The value must be an http or https URL.')
}

const units: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** Parses a duration option, such as `30s`, `10m` or `7d`, into milliseconds. */
export function durationMs(text: string): number {
  const [, count, unit] = /^(\d+)(ms|s|m|h|d)$/.exec(text) ?? []
  const factor = units[unit ?? '']
  if (count === undefined || factor === undefined) throw new InvalidArgumentError('Write it as 30s, 10m, 2h or 7d.')
  return Number(count) * factor
}
