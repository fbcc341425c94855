// `pipespan setup`: shows a plan, and makes what a first daemon needs: a service account that may only read, webhooks, an ingest token, the
// configuration. Interrupted at any point, it goes on where it was; what only a person can do it names, and waits for.
import { mkdir } from 'node:fs/promises'
import { answersOf, asked, type SetupAnswers, type SetupFlags } from './answers.ts'
import { configuration, ingestToken, manifest, webhookSecret } from './own-steps.ts'
import { createIngestTokens } from '../../tokens/client.ts'
import { createMemoryBudget } from '../../platform/rest/memory-budget.ts'
import { createPlatformClient } from '../../platform/rest/client.ts'
import { exitCode, print, type Terminal } from '../terminal.ts'
import { ConfigError, Fault } from '../../lib/fault.ts'
import { hooks, platformToken, serviceAccount } from './platform-steps.ts'
import { join } from 'node:path'
import { openJournal } from './journal.ts'
import { pathIn } from './files.ts'
import { silentLog } from '../../lib/log.ts'
import { systemClock } from '../../lib/clock.ts'
import { tryLock } from '../../tokens/file-lock.ts'
import { version } from '../../lib/version.ts'
import type { SetupStep, StepContext } from './step.ts'

/** For one request, ms: a person waits for the answer. */
const timeoutMs = 15_000

/** Exit code 1 while something is left for a person to do. */
export async function setup(flags: SetupFlags, terminal: Terminal): Promise<number> {
  const answers = await answersOf(flags, terminal)
  const steps = stepsOf(answers)
  print(terminal, planText(steps, answers))
  if (flags.dryRun) return exitCode.done
  if (!flags.yes) {
    const answer = await asked('Proceed? (yes)', terminal)
    if (answer === undefined) {
      print(terminal, 'Nothing was done: there is no terminal to confirm in. Use --yes to proceed.')
      return exitCode.misused
    }
    if (!/^(y|yes|)$/i.test(answer)) {
      print(terminal, 'Nothing was done.')
      return exitCode.done
    }
  }
  await mkdir(answers.folder, { recursive: true, mode: 0o700 })
  const lock = tryLock(join(answers.folder, 'setup.lock'))
  if (lock === undefined)
    throw new ConfigError(`Another setup is running in ${answers.folder}.`, 'Wait for it, or use another folder.')
  try {
    return await run(steps, answers, terminal)
  } finally {
    lock.release()
  }
}

function stepsOf(answers: SetupAnswers): SetupStep[] {
  return [
    webhookSecret(answers),
    ...(answers.serviceAccount === undefined ? [] : [serviceAccount(answers)]),
    platformToken(answers),
    hooks(answers),
    ...(answers.observabilityUrl === undefined ? [] : [ingestToken(answers)]),
    configuration(answers),
    ...(answers.kubernetes === undefined ? [] : [manifest(answers, answers.kubernetes)]),
  ]
}

function planText(steps: readonly SetupStep[], { folder }: SetupAnswers): string {
  const lines = steps.map(({ does, byPerson }, index) => `  ${index + 1}. ${does}${byPerson === true ? ' (you)' : ''}`)
  const final = steps.filter(({ undo, byPerson }) => undo === undefined && byPerson !== true)
  return [
    `The plan, in ${folder}:`,
    ...lines,
    ...final.map(({ name }) => `What ${name} creates cannot be undone from here: remove it on the platform.`),
  ].join('\n')
}

async function run(steps: readonly SetupStep[], answers: SetupAnswers, terminal: Terminal): Promise<number> {
  const { ownerToken, apiKey, observabilityUrl } = answers
  const platform = ownerToken && platformOf(answers, () => ownerToken.reveal())
  const instance =
    observabilityUrl === undefined || apiKey === undefined
      ? undefined
      : createIngestTokens({ url: observabilityUrl, apiKey: () => apiKey, timeoutMs })
  const journal = await openJournal(answers.folder, () => new Date())
  const context: StepContext = { answers, journal, terminal, platform, instance }
  const left: string[] = []
  try {
    for (const step of steps) {
      const outcome = await outcomeOf(step, context)
      if (outcome.is === 'done') print(terminal, `✓ ${outcome.said}`)
      else left.push(outcome.said)
    }
  } finally {
    await Promise.all([platform?.close(), instance?.close()])
  }
  const file = pathIn(answers, 'configuration')
  if (left.length === 0) {
    print(
      terminal,
      `\nEverything is set up. Start the daemon and check it:\n  pipespan serve --config ${file}\n  pipespan doctor --config ${file}`,
    )
    return exitCode.done
  }
  print(
    terminal,
    `\nLeft for you:\n${left.map(one => `  - ${one}`).join('\n')}\nThen run the same command again: finished steps are skipped.`,
  )
  return exitCode.failed
}

/** One that fails keeps the others from nothing: they are tried, and it is named. */
async function outcomeOf(step: SetupStep, context: StepContext) {
  try {
    return await step.run(context)
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    return { is: 'waiting' as const, said: `${step.name}: ${error.message}` }
  }
}

function platformOf({ platformUrl }: SetupAnswers, token: () => string) {
  return createPlatformClient({
    ...{ url: platformUrl, token, tokenType: 'private', concurrency: 2, userAgent: `Pipespan/${version}` },
    timeouts: { connect: timeoutMs, answer: timeoutMs },
    retry: { tries: 2, refusals: 2, first: 500, max: 5_000 },
    budget: createMemoryBudget({ perMinute: 300 }, systemClock),
    ...{ clock: systemClock, log: silentLog() },
  })
}
