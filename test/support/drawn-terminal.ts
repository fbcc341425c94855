// Runs a program on a pseudo-terminal, and reads the lines that a user would see there. It needs python3, whose standard library supports
// pseudo-terminals.
import { spawn, spawnSync, type ChildProcessWithoutNullStreams } from 'node:child_process'
import path from 'node:path'

export const hasPseudoTerminals = spawnSync('python3', ['-c', 'import pty']).status === 0

export class DrawnTerminal {
  readonly ended: Promise<number | null>
  readonly #process: ChildProcessWithoutNullStreams
  #written = ''

  constructor(
    command: readonly string[],
    env: NodeJS.ProcessEnv,
    { rows, columns }: { rows: number; columns: number },
  ) {
    const script = path.join(import.meta.dirname, 'on-terminal.py')
    this.#process = spawn('python3', [script, String(rows), String(columns), ...command], {
      env: { ...process.env, TERM: 'xterm', LANG: 'C.UTF-8', ...env },
    })
    this.#process.stdout.setEncoding('utf8').on('data', (text: string) => (this.#written += text))
    this.ended = new Promise(resolve => this.#process.on('exit', resolve))
  }

  press(keys: string): void {
    this.#process.stdin.write(keys)
  }

  kill(): void {
    this.#process.kill('SIGKILL')
  }

  /** All output that the program has written. */
  get written(): string {
    return this.#written
  }

  /** The lines of the last screen. `top` draws each screen from the upper left corner. Colours are removed. */
  get lines(): string[] {
    const picture = this.#written.split('\x1b[H').at(-1) ?? ''
    return picture.replace(/\x1b\[[?\d;]*[a-zA-Z]/g, '').split(/\r?\n/)
  }
}
