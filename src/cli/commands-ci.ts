// The command line of what is used in CI jobs and for setting the platform up: `pipespan traceparent`, `pipespan hooks`.
import { Option } from 'commander'
import { example, wholeNumber, type CommandLine } from './command-line.ts'
import type { TraceparentOptions } from './traceparent.ts'

export function addCiCommands({ program, terminal, answer }: CommandLine): void {
  example(
    program
      .command('traceparent')
      .description('print the TRACEPARENT of the CI job it runs in: spans made by the job then nest under its span')
      .addOption(
        new Option('--ids <scheme>', 'as the daemon makes them (default: PIPESPAN_TRACE_IDS, else instance)').choices([
          'instance',
          'platform',
        ]),
      )
      .option('--root <id>', 'the first pipeline of a family (else PIPESPAN_ROOT_PIPELINE_ID)', wholeNumber)
      .option('--instance <url>', 'the base URL that the daemon knows (else CI_SERVER_URL)')
      .action(
        answer(async (options: TraceparentOptions) =>
          (await import('./traceparent.ts')).traceparent(terminal, options),
        ),
      ),
    'export TRACEPARENT="$(pipespan traceparent)"',
  )
}
