// The command line of `pipespan regressions`.
import { example, type CommandLine } from './command-line.ts'
import { withStore } from './configuration.ts'
import type { RegressionOptions } from './regressions.ts'

export function addRegressionCommands({ program, terminal, file, answer }: CommandLine): void {
  example(
    program
      .command('regressions')
      .description('pipelines and jobs that became slower or less reliable, with the first bad run')
      .option('--all', 'also those that are resolved', false)
      .option('--json', 'print JSON, for scripts', false)
      .action(
        answer(async (options: RegressionOptions) =>
          withStore(terminal, file(), async store =>
            (await import('./regressions.ts')).regressions(store.repositories.regressions, terminal, options),
          ),
        ),
      ),
    'pipespan regressions --json',
  )
}
