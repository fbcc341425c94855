// The streams and the environment of a command, which are passed in so that tests can replace them. The file also contains exit codes and print
// functions.
import { plainJson, plainLine, plainLines } from './plain-text.ts'

export interface Terminal {
  readonly stdin?: NodeJS.ReadableStream & {
    readonly isTTY?: boolean
    /**
     * Turns the terminal's raw mode on or off. In raw mode, each key press is delivered immediately and not echoed. Undefined if the input is not a
     * terminal.
     */
    setRawMode?(raw: boolean): unknown
  }
  readonly stdout: NodeJS.WritableStream & {
    readonly isTTY?: boolean
    readonly columns?: number
    readonly rows?: number
  }
  readonly stderr: NodeJS.WritableStream & { readonly isTTY?: boolean }
  readonly env: NodeJS.ProcessEnv
}

/** The exit codes of every command, listed in docs/commands.md. */
export const exitCode = { done: 0, failed: 1, misused: 2 } as const

/**
 * Prints lines without control sequences and invisible characters. A string from an external source that is part of a line must go through
 * `plainLine` first, so that it cannot start a new line.
 */
export function print(terminal: Terminal, text: string): void {
  terminal.stdout.write(`${plainLines(text)}\n`)
}

export function complain(terminal: Terminal, text: string): void {
  terminal.stderr.write(`${plainLines(text)}\n`)
}

/** Prints JSON in which invisible characters are escaped. */
export function printJson(terminal: Terminal, value: unknown, indent?: number): void {
  print(terminal, plainJson(JSON.stringify(value, null, indent)))
}

/**
 * Prints a coloured drawing. Only functions in `terminal/` may create drawings, because they remove control sequences from the names that a drawing
 * contains.
 */
export function printPicture(terminal: Terminal, picture: string): void {
  terminal.stdout.write(`${picture}\n`)
}

/** Whether to print colours: in a terminal, unless NO_COLOR has a value. */
export function isColored({ stdout, env }: Terminal): boolean {
  return stdout.isTTY === true && (env.NO_COLOR ?? '') === '' && env.TERM !== 'dumb'
}

/** Formats rows as a table. Columns are padded to their widest cell, with two spaces between them. The first row is the heading. */
export function table(given: readonly (readonly string[])[]): string {
  const rows = given.map(row => row.map(plainLine))
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map(row => row[column]?.length ?? 0)))
  return rows
    .map(row =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}
