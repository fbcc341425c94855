// What a command may touch of the outside: its streams and its environment, handed in so that a test can hold them.

export interface Terminal {
  readonly stdin?: NodeJS.ReadableStream
  readonly stdout: NodeJS.WritableStream & {
    readonly isTTY?: boolean
    readonly columns?: number
    readonly rows?: number
  }
  readonly stderr: NodeJS.WritableStream & { readonly isTTY?: boolean }
  readonly env: NodeJS.ProcessEnv
}

/** What every command answers with. The README lists them. */
export const exitCode = { done: 0, failed: 1, misused: 2 } as const

export function print(terminal: Terminal, text: string): void {
  terminal.stdout.write(`${text}\n`)
}

export function complain(terminal: Terminal, text: string): void {
  terminal.stderr.write(`${text}\n`)
}

/** Columns padded to their widest cell, two spaces between. The first row is the heading. */
export function table(rows: readonly (readonly string[])[]): string {
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
