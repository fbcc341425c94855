// How the token commands answer beyond what every command does: their exit codes, their refusals, JSON.
import { Fault } from '../lib/fault.ts'
import { complain, exitCode, print, type Terminal } from './terminal.ts'

/** Documented in docs/token-rotation.md. */
export const tokensExit = {
  ...exitCode,
  /** The target holds the new token, and the older ones stay valid, since a daemon does not report it. */
  kept: 3,
  /** Another rotation of the same target is under way. */
  busy: 4,
  /** Not done, since it would cut off telemetry. */
  refused: 5,
} as const

/** Runs a command; what goes wrong in an expected way becomes a line on standard error. */
export async function reporting(terminal: Terminal, command: () => Promise<number>): Promise<number> {
  try {
    return await command()
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    complain(terminal, error.message)
    return tokensExit.failed
  }
}

export function refuse(terminal: Terminal, reason: string): number {
  complain(terminal, reason)
  return tokensExit.refused
}

export function printJson(terminal: Terminal, value: unknown): void {
  print(terminal, JSON.stringify(value, null, 2))
}
