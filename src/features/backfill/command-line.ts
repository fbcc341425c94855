// The command line of `pipespan backfill`.
import { InvalidArgumentError } from 'commander'
import { durationMs, example, misuse } from '../../lib/command-line.ts'
import type { BackfillCommand } from './command.ts'
import type { ConfiguredLine } from '../../daemon/feature-commands.ts'

export function addBackfillCommand(line: ConfiguredLine<unknown>): void {
  const { program, answer, backfills } = line
  const typedTimes: string[] = []
  const instant = (text: string): number => {
    typedTimes.push(text)
    return instantOf(text, Date.now())
  }
  const several = (text: string, before: readonly string[]): string[] => [...before, ...text.split(',')]
  const command = program
    .command('backfill')
    .description('export past pipelines; run it again to resume')
    .requiredOption(
      '--since <when>',
      'a time such as 2026-05-01 or 2026-05-01T12:00Z, or how long ago, such as 7d',
      instant,
    )
    .option('--until <when>', 'the end of the range, written the same way; default: now', instant)
    .option(
      '--project <project>',
      'a project, by its ID or full path; comma-separated or repeated; default: everything that is polled',
      several,
      [],
    )
    .option('--group <group>', 'a group, with its subgroups', several, [])
    .option('--mine', "the pipelines that the token's user started, in all projects", false)
    .option('--platform <name>', 'the platform, if several are configured')
    .option('--dry-run', 'only count; change nothing', false)
    .option('--deliver', 'also fetch details and export, for a store without a running daemon', false)
    .option('--json', 'print the result as one JSON object, for scripts', false)
    .action(
      answer(
        async (given: Omit<BackfillCommand, 'typedRange' | 'otherBackfill'> & Readonly<Record<string, unknown>>) => {
          if (given.until !== undefined && given.until <= given.since)
            throw misuse('--until must be later than --since.')
          if (given.since >= Date.now()) throw misuse('--since must be in the past.')
          const otherBackfill = backfills.find(({ flag }) => given[flag] === true)
          if (otherBackfill !== undefined && (given.mine || given.project.length + given.group.length > 0))
            throw misuse(`--${otherBackfill.flag} reads ${otherBackfill.what}: omit --project, --group and --mine.`)
          const { runBackfill } = await import('./command.ts')
          return runBackfill(line, { ...given, otherBackfill, typedRange: typedTimes.join(' ') })
        },
      ),
    )
  for (const { flag, what } of backfills) command.option(`--${flag}`, `${what} instead of pipelines`, false)
  example(
    command,
    'pipespan backfill --since 7d --group team --dry-run',
    'pipespan backfill --since 2026-05-01 --until 2026-05-08 --project team/shop',
    ...backfills.map(({ flag }) => `pipespan backfill --since 40d --${flag}`),
  )
}

function instantOf(text: string, now: number): number {
  const date = /^\d{4}-\d\d-\d\d/.test(text) ? Date.parse(text) : Number.NaN
  if (!Number.isNaN(date)) return date
  try {
    return now - durationMs(text)
  } catch {
    throw new InvalidArgumentError('Write a date such as 2026-05-01, or how long ago, such as 12h or 7d.')
  }
}
