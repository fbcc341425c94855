// `pipespan regressions`: lists pipelines, jobs and sections that became slower or less reliable, from the store.
import { bodyOf } from './regression-event.ts'
import { example } from '../../lib/command-line.ts'
import { exitCode, print, printJson, table, type Terminal } from '../../lib/terminal.ts'
import { regressionsOf, type ShownRegression } from './documents.ts'
import type { ConfiguredLine } from '../../daemon/feature-commands.ts'
import type { RegressionOptions } from './options.ts'

/** `all` includes resolved regressions. */
interface ListOptions {
  readonly json: boolean
  readonly all: boolean
}

export function addRegressionsCommand({
  program,
  terminal,
  answer,
  withStore,
}: ConfiguredLine<RegressionOptions>): void {
  example(
    program
      .command('regressions')
      .description('list pipelines and jobs that became slower or less reliable, with the first bad run')
      .option('--all', 'include resolved regressions', false)
      .option('--json', 'print JSON, for scripts', false)
      .action(
        answer(async (options: ListOptions) =>
          withStore(async store => listRegressions(await regressionsOf(store, {}), terminal, options)),
        ),
      ),
    'pipespan regressions --json',
  )
}

export function listRegressions(
  stored: readonly ShownRegression[],
  terminal: Terminal,
  { json, all }: ListOptions,
): number {
  const regressions = stored.filter(({ resolved }) => all || resolved === undefined)
  if (json) {
    printJson(terminal, { regressions })
    return exitCode.done
  }
  if (regressions.length === 0) {
    print(terminal, all ? 'Nothing was flagged.' : 'Nothing is flagged. Use --all to list resolved regressions.')
    return exitCode.done
  }
  const rows = regressions.map(one => [
    new Date(one.first.at).toISOString().slice(0, 16),
    one.project,
    one.branch,
    `#${one.first.pipelineId}`,
    bodyOf(one),
    one.cause,
  ])
  print(terminal, table([['SINCE', 'PROJECT', 'BRANCH', 'FIRST BAD RUN', 'WHAT', 'LIKELY CAUSE'], ...rows]))
  return exitCode.done
}
