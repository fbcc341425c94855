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
      .option(
        '--root <id>',
        'ID of the root pipeline, if another pipeline triggered this one (default: PIPESPAN_ROOT_PIPELINE_ID)',
        wholeNumber,
      )
      .option('--instance <url>', "the platform's base URL, as configured in the daemon (default: CI_SERVER_URL)")
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
      .description('set up a first daemon: create its service account, webhooks, ingest token and configuration')
      .option('--platform-url <url>', 'URL of the platform', webAddress)
      .option('--project <id>', 'a project to create a webhook for; may be repeated', several, [])
      .option('--group <id>', 'a group to create a webhook for; may be repeated', several, [])
      .option('--public-url <url>', 'public URL at which the platform reaches the daemon', webAddress)
      .option('--otlp-endpoint <url>', 'OTLP/HTTP endpoint of the backend', webAddress)
      .option(
        '--observability-url <url>',
        'URL of the observability instance on which to create an ingest token (needs PIPESPAN_OBSERVABILITY_API_KEY)',
        webAddress,
      )
      .option(
        '--service-account <group>',
        'create a read-only service account in this group, or for the whole platform (`instance`)',
      )
      .option('--kubernetes <namespace>', 'also write the manifests of the Kubernetes Secrets')
      .option('--folder <path>', 'output folder', './pipespan')
      .option('--dry-run', 'show the plan; change nothing', false)
      .option('--yes', 'do not ask for confirmation', false)
      .addHelpText(
        'after',
        '\nReads a token of an owner from PIPESPAN_SETUP_TOKEN, or asks for it. Without a token, you create the webhooks yourself.' +
          '\nYou can interrupt the setup and run it again. Exit code 1: you must do some steps yourself.',
      )
      .action(answer(async (options: SetupFlags) => (await import('./setup/setup.ts')).setup(options, terminal))),
    'pipespan setup --platform-url https://git.example.com --group team --public-url https://pipespan.example.com --otlp-endpoint https://otlp.example.com --dry-run',
  )

  const hooks = program.command('hooks').description("manage the platform's webhooks for the daemon")
  example(
    hooks
      .command('ensure')
      .description(
        'create or repair webhooks: URL, events, secrets (PIPESPAN_WEBHOOK_TOKEN, PIPESPAN_WEBHOOK_SIGNING_TOKEN)',
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
      .option('--old-url <url>', 'move webhooks that have this old URL to the new URL', webAddress)
      .option(
        '--write-secret',
        'also replace existing secrets (the platform does not return them, so they cannot be compared)',
        false,
      )
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
