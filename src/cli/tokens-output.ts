// What only the token commands print and answer: their exit codes, refusals, JSON.
import { Fault } from '../lib/fault.ts'
import { complain, exitCode, print, type Terminal } from './terminal.ts'

/** Documented in docs/token-rotation.md. */
export const tokensExit = {
  ...exitCode,
  /** The target has the new token, but a daemon has not reported it: the older tokens stay valid. */
  kept: 3,
  /** Another rotation of the same target is under way. */
  busy: 4,
  /** Refused, because telemetry would be lost. */
  refused: 5,
} as const

/** Runs a command; a Fault becomes a line on standard error. */
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
