// Declares the commands for CI jobs and for setting up the platform: `pipespan traceparent`, `pipespan setup`, `pipespan hooks`.
import { Option } from 'commander'
import { example, webAddress, wholeNumber, type CommandLine } from '../lib/command-line.ts'
import type { EnsureOptions } from './hooks-command.ts'
import type { SetupFlags } from './setup/answers.ts'
import type { TraceparentOptions } from './traceparent.ts'

export function addCiCommands({ program, terminal, file, answer }: CommandLine): void {
  example(
    program
      .command('traceparent')
      .description('print the TRACEPARENT of the current CI job, so that its own spans nest under the job span')
      .addOption(
        new Option(
          '--ids <scheme>',
          'the trace ID scheme of the daemon (default: PIPESPAN_TRACE_IDS, else instance)',
        ).choices(['instance', 'platform']),
      )
      .option('--root <id>', 'the root pipeline of a family (else PIPESPAN_ROOT_PIPELINE_ID)', wholeNumber)
      .option('--instance <url>', "the platform's base URL, as configured in the daemon (else CI_SERVER_URL)")
      .action(
        answer(async (options: TraceparentOptions) =>
          (await import('./traceparent.ts')).traceparent(terminal, options),
        ),
      ),
    'export TRACEPARENT="$(pipespan traceparent)"',
  )

  example(
    program
      .command('setup')
      .description('create what a first daemon needs: service account, webhooks, ingest token, configuration')
      .option('--platform-url <url>', 'URL of the platform', webAddress)
      .option('--project <id>', 'a project to create a webhook for; may be repeated', several, [])
      .option('--group <id>', 'a group to create a webhook for; may be repeated', several, [])
      .option('--public-url <url>', 'public URL of the daemon, as the platform reaches it', webAddress)
      .option('--otlp-endpoint <url>', 'OTLP/HTTP endpoint of the backend', webAddress)
      .option(
        '--observability-url <url>',
        'observability instance to create an ingest token at (needs PIPESPAN_OBSERVABILITY_API_KEY)',
        webAddress,
      )
      .option('--service-account <group>', 'create a read-only service account: in this group, or `instance`')
      .option('--kubernetes <namespace>', 'also write the manifests of the Kubernetes Secrets')
      .option('--folder <path>', 'output folder', './pipespan')
      .option('--dry-run', 'show the plan; change nothing', false)
      .option('--yes', 'do not ask for confirmation', false)
      .addHelpText(
        'after',
        '\nReads an owner’s token from PIPESPAN_SETUP_TOKEN, or asks for it; without a token you create the webhooks yourself.' +
          '\nIt can be interrupted and run again. Exit code 1: some steps are left for you.',
      )
      .action(answer(async (options: SetupFlags) => (await import('./setup/setup.ts')).setup(options, terminal))),
    'pipespan setup --platform-url https://git.example.com --group team --public-url https://pipespan.example.com --otlp-endpoint https://otlp.example.com --dry-run',
  )

  const hooks = program.command('hooks').description("manage the platform's webhooks for the daemon")
  example(
    hooks
      .command('ensure')
      .description(
        'create or repair them: URL, events, secrets (PIPESPAN_WEBHOOK_TOKEN, PIPESPAN_WEBHOOK_SIGNING_TOKEN)',
      )
      .option('--project <id>', 'a project, by its ID or full path; may be repeated', several, [])
      .option('--group <id>', 'a group, by its ID or full path; may be repeated', several, [])
      .option(
        '--all-projects',
        "all projects that the token's user maintains; with an administrator's token, all projects",
        false,
      )
      .option('--platform <name>', 'the platform, if several are configured')
      .option('--url <url>', 'webhook URL of the daemon (default: PIPESPAN_PUBLIC_URL plus /webhooks)', webAddress)
      .option('--old-url <url>', 'move a hook with this URL to the new one', webAddress)
      .option('--write-secret', 'also replace existing secrets, which cannot be read back to compare', false)
      .option('--dry-run', 'show what would change; change nothing', false)
      .option('--json', 'print JSON, for scripts', false)
      .action(
        answer(async (options: EnsureOptions) =>
          (await import('./hooks-command.ts')).ensureHooks(terminal, file(), options),
        ),
      ),
    'pipespan hooks ensure --group team --url https://pipespan.example.com/webhooks --dry-run',
  )
}

function several(value: string, before: readonly string[]): readonly string[] {
  return [...before, value]
}
