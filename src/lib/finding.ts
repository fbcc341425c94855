// The result of a check: one line, and a remedy if the operator needs to act.
import { Fault, reasonOf } from './fault.ts'

export type Level = 'fine' | 'skipped' | 'warning' | 'failure'

export interface Finding {
  /** The name of the check in the output of `--json`. */
  readonly check: string
  readonly level: Level
  readonly what: string
  readonly remedy?: string | undefined
}

export type Report = (level: Level, what: string, remedy?: string) => Finding

export function reportOf(check: string): Report {
  return (level, what, remedy) => ({ check, level, what, ...(remedy === undefined ? {} : { remedy }) })
}

/** Converts an error to a finding: its message, and its remedy if it has one. */
export function broken(report: Report, level: Level, error: unknown): Finding {
  if (!(error instanceof Fault)) return report(level, `${reasonOf(error)}.`)
  return report(level, error.message.slice(0, -error.remedy.length).trim(), error.remedy)
}
