// The command line: the names, options and help texts of all commands. The code of each command is in its own file, which is loaded when needed.
import { plainLine } from '../lib/plain-text.ts'
import { Command, CommanderError, Help, InvalidArgumentError, Option } from 'commander'
import { addCiCommands } from './commands-ci.ts'
import { addOperatingCommands } from './commands-operating.ts'
import {
  durationMs,
  example,
  Misconfigured,
  misuse,
  misuseCode,
  webAddress,
  wholeNumber,
  type CommandLine,
} from '../lib/command-line.ts'
import { complain, exitCode, type Terminal } from '../lib/terminal.ts'
import type { ConfiguredLine } from '../daemon/feature-commands.ts'
import { environmentHelp } from '../daemon/configuration/variables.ts'
import { features } from '../features.ts'
import { Fault } from '../lib/fault.ts'
import { chosenPlatform, requireConfig, withStore } from './configuration.ts'
import { profiles } from '../daemon/profile.ts'
import { version } from '../lib/version.ts'
import { listenAddress, type ListenAddress } from '../daemon/configuration/address-kinds.ts'
import type { TopOptions } from './top.ts'

/** Runs the command line and returns the exit code. */
export async function runProgram(args: readonly string[], terminal: Terminal = process): Promise<number> {
  let code: number = exitCode.done
  const answer =
    <A extends unknown[]>(command: (...given: A) => Promise<number> | number) =>
    async (...given: A): Promise<void> => {
      code = await command(...given)
    }
  const program = buildProgram(terminal, answer)
  try {
    await program.parseAsync([...args], { from: 'user' })
    return code
  } catch (error) {
    if (error instanceof CommanderError && error.code === misuseCode) complain(terminal, error.message)
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitCode.done : exitCode.misused
    if (!(error instanceof Fault)) throw error
    complain(terminal, error instanceof Misconfigured ? error.message : plainLine(error.message))
    return error instanceof Misconfigured ? error.exitCode : exitCode.failed
  }
}

const help = new Help()

function isUnset({ defaultValue }: Option): boolean {
  return defaultValue === false || (Array.isArray(defaultValue) && defaultValue.length === 0)
}

/** Declares all commands. Each command's action is wrapped in `answer`, which keeps the exit code that the action returns. */
export function buildProgram(terminal: Terminal, answer: CommandLine['answer']): Command {
  const program = new Command('pipespan')
    .description('Turns every CI/CD pipeline of a GitLab-like platform into OpenTelemetry.')
    .version(version)
    .showHelpAfterError('(see `pipespan --help`)')
    // The help text omits "(default: false)" and "(default: [])", because they help nobody.
    .configureHelp({
      optionDescription: option => (isUnset(option) ? option.description : help.optionDescription(option)),
    })
    .exitOverride()
    .configureOutput({
      writeOut: text => terminal.stdout.write(text),
      writeErr: text => terminal.stderr.write(text),
    })
    .option('-c, --config <file>', 'the YAML file (default: PIPESPAN_CONFIG)')
    .addHelpText(
      'after',
      `
Exit codes: 0 done; 1 failed; 2 the command line or the configuration is wrong.

Try it without a platform or a backend:
  $ pipespan demo
Try it on your platform, without a webhook or a backend:
  $ pipespan try https://git.example.com team/shop
See what a webhook becomes:
  $ pipespan map payload.json`,
    )
  const file = (): string | undefined => program.opts<{ config?: string }>().config
  const line: CommandLine = { program, terminal, file, answer }

  example(
    program
      .command('serve')
      .description('run the daemon: receive webhooks, export pipelines')
      .action(answer(async () => (await import('./serve.ts')).serve(terminal, file()))),
    'PIPESPAN_WEBHOOK_TOKEN=… OTEL_EXPORTER_OTLP_ENDPOINT=https://otlp.example.com pipespan serve',
  ).addHelpText('after', () => `\n${environmentHelp(profiles, profiles.generic, features)}`)

  example(
    program
      .command('doctor')
      .description(
        'check everything between the platform and the backend; print a line for each check, and how to fix each problem',
      )
      .option('--project <path>', 'only show the destinations to which this project is exported')
      .option('--json', 'print JSON, for scripts', false)
      .action(
        answer(async (options: { json: boolean; project?: string }) =>
          (await import('./doctor.ts')).doctor(terminal, { file: file(), ...options }),
        ),
      ),
    'pipespan doctor',
  ).addHelpText('after', '\nExit codes: 0 all checks passed; 1 warnings; 2 failures.')

  example(
    program
      .command('top')
      .description(
        'show a live view of a running daemon: what is running, waiting and failing; press q to quit; without a terminal, it is printed once',
      )
      .option('--url <url>', "URL of the daemon's pages (default: from the configuration)", webAddress)
      .addOption(new Option('--every <duration>', 'how often to refresh').argParser(durationMs).default(1_000, '1s'))
      .option('--json', 'print the overview as JSON, once', false)
      .action(
        answer(async (options: TopOptions) => {
          const { config } = requireConfig(terminal, file())
          return (await import('./top.ts')).top(terminal, options, config)
        }),
      ),
    'pipespan top',
    'pipespan top --url https://pipespan.example.com',
  )

  example(
    program
      .command('map')
      .description('show what a webhook payload becomes, without a backend')
      .argument('<file>', "a file with one webhook's JSON body; - reads standard input")
      .option('--event <kind>', 'the event header that was sent with the payload, such as "Pipeline Hook"')
      .option('--platform <name>', 'the platform, if several are configured')
      .option('--json', 'print OTLP/JSON instead of a tree', false)
      .option('--explain', 'also print the verdict: where the pipeline failed, or where its time went', false)
      .action(
        answer(
          async (path: string, options: { event?: string; platform?: string; json: boolean; explain: boolean }) => {
            const { config } = chosenPlatform(requireConfig(terminal, file()).config, options.platform)
            const { telemetryOf } = await import('../daemon/export.ts')
            return (await import('./map.ts')).mapFile(
              terminal,
              { file: path, ...options },
              config,
              telemetryOf(config, features),
            )
          },
        ),
      ),
    'pipespan map payload.json',
    'curl -s https://example.com/hook.json | pipespan map -',
  )

  const config = program.command('config').description('check the configuration')
  example(
    config
      .command('check')
      .description('check the configuration; list every error, its line, and how to fix it')
      .argument('[file]', 'the YAML file (default: --config or PIPESPAN_CONFIG)')
      .option('--show', 'also print every setting in effect, and where it was set')
      .option('--online', 'also run each configured query once')
      .option('--json', 'print JSON, for scripts', false)
      .action(
        answer(async (path: string | undefined, options: { show?: boolean; online?: boolean; json: boolean }) =>
          (await import('./config-check.ts')).configCheck(terminal, { file: path ?? file(), ...options }),
        ),
      ),
    'pipespan config check pipespan.yaml',
  )

  addOperatingCommands(line)
  addCiCommands(line)
  const ofFeatures: ConfiguredLine<never> = {
    ...{ ...line, backfills: features.flatMap(({ backfill }) => backfill ?? []) },
    configured: async mayBeMissing =>
      (await import('./command-surroundings.ts')).commandSurroundings(line, mayBeMissing),
    withStore: async command => withStore(terminal, file(), command),
  }
  for (const feature of features) feature.commands?.(ofFeatures)

  example(
    program
      .command('try')
      .description('show the pipelines of your platform on local pages: needs no webhook and no backend, keeps nothing')
      .argument('<url>', 'URL of the platform, or of a project or group there')
      .argument('[project-or-group]', 'ID, full path or URL of the project or group')
      .option('--keep <folder>', 'keep the store in this folder, and continue with it the next time')
      .option('--no-open', 'do not open a browser')
      .addHelpText(
        'after',
        '\nAsks for a token with the scope read_api, or reads it from PIPESPAN_PLATFORM_TOKEN.' +
          '\nExports only if OTEL_EXPORTER_OTLP_ENDPOINT is set. Reads PIPESPAN_PLATFORM_…, OTEL_… and the proxy variables; other settings have their defaults.' +
          '\nCtrl-C stops it and prints the configuration for a permanent daemon.',
      )
      .action(
        answer(async (url: string, target: string | undefined, options: { keep?: string; open: boolean }) => {
          if (file() !== undefined) throw misuse('`pipespan try` makes its own configuration. Leave --config out.')
          return (await import('./try.ts')).tryPlatform({ url, target }, options, terminal)
        }),
      ),
    'pipespan try https://git.example.com team/shop',
    'pipespan try https://git.example.com/team',
  )

  example(
    program
      .command('demo')
      .description('run this daemon between a simulated platform and a receiver that draws its traces')
      .option('--once', 'stop after ten pipelines')
      .option(
        '--listen <address>',
        'host and port of the pages, such as 0.0.0.0:9464 (default: a free port of 127.0.0.1)',
        listenArgument,
      )
      .option('--seed <number>', 'seed of the simulation; a different number gives different pipelines', wholeNumber)
      .action(
        answer(async (options: { once?: boolean; listen?: ListenAddress; seed?: number }) =>
          (await import('./demo.ts')).demo(options, terminal),
        ),
      ),
    'pipespan demo --once',
  )

  return program
}

function listenArgument(text: string): ListenAddress {
  const parsed = listenAddress.parse(text)
  if ('value' in parsed) return parsed.value
  throw new InvalidArgumentError(parsed.wrong.remedy)
}
