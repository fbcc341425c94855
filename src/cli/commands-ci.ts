// The command line of what is used in CI jobs and for setting the platform up: `pipespan traceparent`, `pipespan setup`,
// `pipespan hooks`.
import { Option } from 'commander'
import { example, misuse, webAddress, wholeNumber, type CommandLine } from './command-line.ts'
import type { SetupFlags } from './setup/answers.ts'
import type { TraceparentOptions } from './traceparent.ts'

export function addCiCommands(line: CommandLine): void {
  const { program, terminal, answer } = line
  example(
    program
      .command('traceparent')
      .description('print the TRACEPARENT of the CI job it runs in: spans made by the job then nest under its span')
      .addOption(
        new Option(
          '--ids <scheme>',
          'the scheme that the daemon uses (default: PIPESPAN_TRACE_IDS, else instance)',
        ).choices(['instance', 'platform']),
      )
      .option('--root <id>', 'the first pipeline of a family (else PIPESPAN_ROOT_PIPELINE_ID)', wholeNumber)
      .option('--instance <url>', "the platform's base URL as the daemon knows it (else CI_SERVER_URL)")
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
      .description('make what a first daemon needs: service account, webhooks, ingest token, configuration')
      .option('--platform-url <url>', 'address of the platform', webAddress)
      .option('--project <id>', 'a project whose webhook is made; several times for several', several, [])
      .option('--group <id>', 'a group, likewise', several, [])
      .option('--public-url <url>', 'where the platform reaches the daemon', webAddress)
      .option('--otlp-endpoint <url>', 'OTLP/HTTP endpoint of the backend', webAddress)
      .option('--observability-url <url>', 'an ingest token is made there (PIPESPAN_OBSERVABILITY_API_KEY)', webAddress)
      .option('--service-account <group>', 'make one that may only read: in this group, or `instance`')
      .option('--kubernetes <namespace>', 'also write the manifest of a Secret')
      .option('--folder <path>', 'where everything is written', './pipespan')
      .option('--dry-run', 'show the plan, and do nothing', false)
      .option('--yes', 'do not ask', false)
      .addHelpText(
        'after',
        '\nAn owner’s token is taken from PIPESPAN_SETUP_TOKEN, or asked for; without one you make the webhooks yourself.' +
          '\nIt may be interrupted and run again. Exit code 1: something is left for you to do.',
      )
      .action(answer(async (options: SetupFlags) => (await import('./setup/setup.ts')).setup(options, terminal))),
    'pipespan setup --platform-url https://git.example.com --group team --public-url https://pipespan.example.com --otlp-endpoint https://otlp.example.com --dry-run',
  )

  const hooks = program.command('hooks').description("the platform's webhooks that feed the daemon")
  example(
    hooks
      .command('ensure')
      .description('create or repair them: URL, events, secret (PIPESPAN_WEBHOOK_TOKEN)')
      .option('--project <id>', 'a project, by its ID or full path; may be repeated', several, [])
      .option('--group <id>', 'a group, by its ID or full path; may be repeated', several, [])
      .option(
        '--all-projects',
        "all that the token's user maintains; with an administrator's token, all there are",
        false,
      )
      .option('--url <url>', 'where the daemon receives webhooks (else PIPESPAN_PUBLIC_URL with /webhooks)', webAddress)
      .option('--old-url <url>', 'a hook with this URL is given the new one', webAddress)
      .option(
        '--write-secret',
        'also replace the secret of hooks that have one: it cannot be read back and compared',
        false,
      )
      .option('--dry-run', 'show what would be done, and change nothing', false)
      .option('--json', 'for scripts', false)
      .action(answer(async (options: EnsureOptions) => ensure(line, options))),
    'pipespan hooks ensure --group team --url https://pipespan.example.com/webhooks --dry-run',
  )
}

interface EnsureOptions {
  readonly project: readonly string[]
  readonly group: readonly string[]
  readonly allProjects: boolean
  readonly url?: string
  readonly oldUrl?: string
  readonly writeSecret: boolean
  readonly dryRun: boolean
  readonly json: boolean
}

async function ensure({ terminal, file }: CommandLine, options: EnsureOptions): Promise<number> {
  const { project: projects, group: groups, allProjects } = options
  if (projects.length + groups.length === 0 && !allProjects) throw misuse('Give --project, --group or --all-projects.')
  const { withHooks } = await import('./hooks-configuration.ts')
  const { hooksEnsure } = await import('./hooks.ts')
  return withHooks(terminal, file(), async ({ client, secret, events, ...configured }) => {
    const url = options.url ?? configured.url
    if (url === undefined) throw misuse('Give --url, or set PIPESPAN_PUBLIC_URL.')
    return hooksEnsure(client, { ...options, projects, groups, url, secret, events }, terminal)
  })
}

function several(value: string, before: readonly string[]): readonly string[] {
  return [...before, value]
}
