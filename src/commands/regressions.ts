// `pipespan regressions`: what became slower or less reliable, from the store.
import { bodyOf } from '../features/regressions/regression-event.ts'
import { exitCode, print, table, type Terminal, printJson } from '../lib/terminal.ts'
import type { Readable, Repositories } from '../core/store/ports/repository.ts'

export interface RegressionOptions {
  readonly json: boolean
  /** Those that are resolved, too. */
  readonly all: boolean
}

/** Unresolved ones first, then newest first. */
export async function regressions(
  repository: Readable<Repositories['regressions']>,
  terminal: Terminal,
  { json, all }: RegressionOptions,
): Promise<number> {
  const found = (await repository.all())
    .filter(({ resolved }) => all || resolved === undefined)
    .map(({ span: _, announced: __, ...one }) => one)
    .sort((a, b) => Number(a.resolved !== undefined) - Number(b.resolved !== undefined) || b.first.at - a.first.at)
  if (json) {
    printJson(terminal, { regressions: found })
    return exitCode.done
  }
  if (found.length === 0) {
    print(terminal, all ? 'Nothing was flagged.' : 'Nothing is flagged. See what was resolved with --all.')
    return exitCode.done
  }
  const rows = found.map(one => [
    new Date(one.first.at).toISOString().slice(0, 16),
    one.project,
    one.branch,
    `#${one.first.pipelineId}`,
    bodyOf({ ...one, announced: { detected: true, resolved: true } }),
    one.cause,
  ])
  print(terminal, table([['SINCE', 'PROJECT', 'BRANCH', 'FIRST BAD RUN', 'WHAT', 'LIKELY CAUSE'], ...rows]))
  return exitCode.done
}
