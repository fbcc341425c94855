// The options of the commands that list entries of the store, and what a command says if the limit left out some of them.
import { complain, type Terminal } from '../lib/terminal.ts'
import { wholeNumber } from '../lib/command-line.ts'
import type { Command } from 'commander'

export interface ListOptions {
  readonly json: boolean
  readonly limit: number
}

export function withListOptions(command: Command): Command {
  return command
    .option('--json', 'print JSON, for scripts', false)
    .option('--limit <number>', 'max entries to list', wholeNumber, 200)
}

/** Reports on standard error that the list is not complete, because scripts read standard output. */
export function complainIfCut(terminal: Terminal, listed: number, all: number): void {
  if (all > listed) complain(terminal, `Listed: the newest ${listed} of ${all}. List more with \`--limit ${all}\`.`)
}
