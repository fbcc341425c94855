// The command-line definitions of `pipespan tokens` and `pipespan enforcement`.
import { durationMs, example } from '../../lib/command-line.ts'
import { Argument, InvalidArgumentError, Option } from 'commander'
import { parseTarget } from './target.ts'
import { Fault, reasonOf } from '../../lib/fault.ts'
import type { ConfiguredLine } from '../../daemon/feature-commands.ts'
import type { TokenOptions } from './options.ts'
import type { RotateAction } from './rotate-command.ts'
import type { TokensAction } from './tokens-command.ts'

interface RotateOptions extends Omit<RotateAction, 'action' | 'graceMs' | 'maxAgeMs'> {
  readonly grace: number
  readonly maxAge?: number
}

export function addTokenCommands(line: ConfiguredLine<TokenOptions>): void {
  const { program, terminal, answer } = line
  const run = async (action: TokensAction): Promise<number> => {
    const { withTokens } = await import('./command-setup.ts')
    return withTokens(line, 'target' in action ? action.target : undefined, async setup =>
      (await import('./tokens-command.ts')).tokensCommand(action, setup, terminal),
    )
  }

  const tokens = program.command('tokens').description("the observability instance's ingest tokens")
  example(
    tokens
      .command('list')
      .description('list tokens, without their values')
      .option('--json', 'print JSON, for scripts', false)
      .action(answer(async ({ json }: { json: boolean }) => run({ action: 'list', json }))),
    'pipespan tokens list',
  )
  example(
    tokens
      .command('create')
      .description('create a token; its value is printed once, or written to a target')
      .requiredOption('--name <name>', 'name of the token')
      .option('--target <target>', 'file:/path or kubernetes:NAMESPACE/SECRET/KEY', targetAddress)
      .option('--json', 'print JSON, for scripts', false)
      .action(
        answer(async (options: { name: string; target?: string; json: boolean }) =>
          run({ action: 'create', ...options }),
        ),
      ),
    'pipespan tokens create --name pipespan --target file:/run/secrets/ingest-token',
  )
  example(
    tokens
      .command('revoke')
      .description('revoke a token, unless it is in use or the last one')
      .argument('<id>', 'ID of the token, as `tokens list` shows it')
      .option('--force', 'revoke it even if it may be in use', false)
      .option('--json', 'print JSON, for scripts', false)
      .action(
        answer(async (id: string, options: { force: boolean; json: boolean }) =>
          run({ action: 'revoke', id, ...options }),
        ),
      ),
    'pipespan tokens revoke 7',
  )
  example(
    tokens
      .command('rotate')
      .description('write a new token to a target, and revoke the older ones once every daemon uses the new one')
      .requiredOption('--name <name>', 'the name of the tokens')
      .requiredOption('--target <target>', 'file:/path or kubernetes:NAMESPACE/SECRET/KEY', targetAddress)
      .addOption(
        new Option('--grace <duration>', 'how long to wait until all daemons use the new token')
          .argParser(durationMs)
          .default(durationMs('10m'), '10m'),
      )
      .option('--max-age <duration>', 'do nothing if the current token is younger', durationMs)
      .option('--adopt', 'at the first rotation, treat tokens of that name as this target’s', false)
      .option('--force', 'revoke even if a daemon has not reported the new token', false)
      .option('--dry-run', 'show what would change; change nothing', false)
      .option('--json', 'print JSON, for scripts', false)
      .addHelpText('after', '\nExit codes: 0 done; 3 the old token is kept; 4 another rotation runs; 5 refused.')
      .action(
        answer(async ({ grace: graceMs, maxAge: maxAgeMs, ...options }: RotateOptions) =>
          run({ action: 'rotate', ...options, graceMs, maxAgeMs }),
        ),
      ),
    'pipespan tokens rotate --name pipespan --target file:/run/secrets/ingest-token --max-age 30d',
  )

  example(
    program
      .command('enforcement')
      .description('show or set whether the observability instance drops telemetry without a valid token')
      .addArgument(new Argument('<action>', 'what to do').choices(['status', 'on', 'off']))
      .option('--force', "turn enforcement on even if it is unclear whether this daemon's token is accepted", false)
      .option('--json', 'print JSON, for scripts', false)
      .action(
        answer(async (action: 'status' | 'on' | 'off', options: { force: boolean; json: boolean }) => {
          const { withTokens } = await import('./command-setup.ts')
          const { enforcementCommand } = await import('./enforcement-command.ts')
          return withTokens(line, undefined, async setup => enforcementCommand({ action, ...options }, setup, terminal))
        }),
      ),
    'pipespan enforcement status',
  )
}

/** Parses a target from the command line. An invalid target ends the program before anything is done. */
function targetAddress(text: string): string {
  try {
    parseTarget(text)
    return text
  } catch (error) {
    throw new InvalidArgumentError(error instanceof Fault ? error.remedy : reasonOf(error))
  }
}
