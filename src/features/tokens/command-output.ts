// What only the token commands print and answer: their exit codes, refusals, JSON.
import { complain, exitCode, type Terminal } from '../../lib/terminal.ts'

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

export function refuse(terminal: Terminal, reason: string): number {
  complain(terminal, reason)
  return tokensExit.refused
}
