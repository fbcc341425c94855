// `pipespan setup`: shows a plan, then creates what a first daemon needs: a read-only service account, webhooks, an ingest token, and the
// configuration. It may be interrupted at any point and run again. At the end it lists the steps that only a person can do.
import { plainLine } from '../../lib/plain-text.ts'
import { answersOf, asked, type SetupAnswers, type SetupFlags, type SetupStep, type StepContext } from './answers.ts'
import { configuration, ingestToken, manifest, webhookSecret } from './own-steps.ts'
import { features } from '../../features.ts'
import { commandClient, type CommandClient } from '../platform.ts'
import { exitCode, print, type Terminal } from '../../lib/terminal.ts'
import { Fault } from '../../lib/fault.ts'
import { diskCodeOf, onDisk, takeFolder, openJournal } from './journal.ts'
import { hooks, platformToken, serviceAccount } from './platform-steps.ts'
import { pathIn } from './files.ts'
import type { Secret } from '../../lib/secret.ts'

/** The timeout is short because a person is waiting for the result. */
const timeoutMs = 15_000

/** The exit code is 1 while a person still has something to do. */
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
  const lock = await takeFolder(answers.folder)
  try {
    return await run(steps, answers, terminal)
  } finally {
    lock.release()
  }
}

/** Creates ingest tokens. Undefined if no feature can create them. */
const makesTokens = features.find(one => one.ingestTokens !== undefined)?.ingestTokens

function stepsOf(answers: SetupAnswers): SetupStep[] {
  return [
    webhookSecret(answers),
    ...(answers.serviceAccount === undefined ? [] : [serviceAccount(answers)]),
    platformToken(answers),
    hooks(answers),
    ...(answers.observabilityUrl === undefined || makesTokens === undefined ? [] : [ingestToken(answers)]),
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
    ...steps.flatMap(({ warns, byPerson }) => (warns === undefined || byPerson === true ? [] : [warns])),
    ...final.map(
      ({ name }) => `The step ${name} cannot be undone with this command: remove what it creates on the platform.`,
    ),
  ].join('\n')
}

async function run(steps: readonly SetupStep[], answers: SetupAnswers, terminal: Terminal): Promise<number> {
  const { ownerToken, apiKey, observabilityUrl } = answers
  const clients: CommandClient[] = []
  const connect = (token: Secret): CommandClient => {
    const client = platformOf(answers, () => token.reveal())
    clients.push(client)
    return client
  }
  const platform = ownerToken && connect(ownerToken)
  const instance =
    observabilityUrl === undefined || apiKey === undefined
      ? undefined
      : makesTokens?.({ url: observabilityUrl, apiKey })
  const journal = await onDisk(answers.folder, async () => openJournal(answers.folder, () => new Date()))
  const context: StepContext = { journal, terminal, platform, instance, connect }
  const left: string[] = []
  try {
    for (const step of steps) {
      const outcome = await outcomeOf(step, context)
      if (outcome.is === 'done') print(terminal, `✓ ${plainLine(outcome.message)}`)
      else left.push(plainLine(outcome.message))
    }
  } finally {
    await Promise.all(clients.map(client => client.close()))
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

/** Runs a setup step. If it fails, the step is listed as still to be done, and the remaining steps are attempted nevertheless. */
async function outcomeOf(step: SetupStep, context: StepContext) {
  try {
    return await step.run(context)
  } catch (error) {
    const code = diskCodeOf(error)
    if (!(error instanceof Fault) && code === undefined) throw error
    const message = error instanceof Fault ? error.message : `its file cannot be written (${code}).`
    return { is: 'waiting' as const, message: `${step.name}: ${message}` }
  }
}

function platformOf({ platformUrl: url }: SetupAnswers, token: () => string): CommandClient {
  return commandClient(300, {
    ...{ url, token, tokenType: 'private', concurrency: 2 },
    timeouts: { connect: timeoutMs, answer: timeoutMs },
    retry: { tries: 2, refusals: 2, first: 500, max: 5_000 },
  })
}
