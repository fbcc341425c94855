// The settings that `pipespan setup` needs: from flags, from environment variables, and from questions at a terminal.
import { createInterface, type Interface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import { misuse } from '../../lib/command-line.ts'
import { Secret } from '../../lib/secret.ts'
import type { Terminal } from '../../lib/terminal.ts'
import type { CommandClient } from '../platform.ts'
import type { TokenMaker } from '../../daemon/feature-commands.ts'
import type { SetupJournal } from './journal.ts'

export interface SetupFlags {
  readonly platformUrl?: string | undefined
  readonly project: readonly string[]
  readonly group: readonly string[]
  readonly publicUrl?: string | undefined
  readonly otlpEndpoint?: string | undefined
  readonly observabilityUrl?: string | undefined
  /** The group that owns the service account, or `instance`. If undefined, no service account is created. */
  readonly serviceAccount?: string | undefined
  /** The namespace in the manifest of the Kubernetes Secret. If undefined, no manifest is written. */
  readonly kubernetes?: string | undefined
  readonly folder: string
  readonly dryRun: boolean
  readonly yes: boolean
}

export interface SetupAnswers extends Pick<
  SetupFlags,
  'observabilityUrl' | 'serviceAccount' | 'kubernetes' | 'folder'
> {
  readonly platformUrl: string
  /** The projects and groups that get a webhook. */
  readonly projects: readonly string[]
  readonly groups: readonly string[]
  /** The URL at which the platform reaches the daemon. */
  readonly publicUrl: string
  readonly otlpEndpoint: string
  /** A token with the owner role. Without it, a person creates the webhooks and the service account. */
  readonly ownerToken?: Secret | undefined
  /** The API key of the observability instance. */
  readonly apiKey?: Secret | undefined
}

/** Asks for missing settings. Throws a misuse error if there is no terminal. */
export async function answersOf(flags: SetupFlags, terminal: Terminal): Promise<SetupAnswers> {
  const missing: string[] = []
  const say = async (flag: string, given: string | undefined, question: string): Promise<string> => {
    const answer = given ?? (await asked(question, terminal))
    if (answer === undefined || answer === '') missing.push(flag)
    return answer ?? ''
  }
  const platformUrl = await say('--platform-url', flags.platformUrl, 'Address of the platform')
  const publicUrl = await say('--public-url', flags.publicUrl, 'Address at which the platform reaches this daemon')
  const otlpEndpoint = await say('--otlp-endpoint', flags.otlpEndpoint, 'OTLP/HTTP endpoint of the backend')
  const groups = [...flags.group]
  if (flags.project.length + groups.length === 0) {
    const named = await say('--group or --project', undefined, 'Groups whose pipelines to export (comma-separated)')
    groups.push(...named.split(',').flatMap(name => (name.trim() === '' ? [] : [name.trim()])))
  }
  if (missing.length > 0) throw misuse(`Setup cannot ask questions without a terminal. Give ${missing.join(', ')}.`)
  for (const url of [platformUrl, publicUrl, otlpEndpoint]) {
    if (!/^https?:\/\/./.test(url) || !URL.canParse(url))
      throw misuse('One of the addresses is not an http or https URL.')
  }
  // The URLs of the platform, the daemon and the observability instance must contain no secret, because the plan prints them and they are written to
  // a file that people share.
  for (const url of [platformUrl, publicUrl, flags.observabilityUrl ?? publicUrl]) {
    const { username, password } = new URL(url)
    if (username + password !== '') throw misuse('An address must not contain a user or password.')
  }
  const ownerToken =
    terminal.env.PIPESPAN_SETUP_TOKEN ??
    (await askedInSecret('Token of an owner (leave empty to create the webhooks yourself)', terminal))
  const apiKey = terminal.env.PIPESPAN_OBSERVABILITY_API_KEY
  const { observabilityUrl, serviceAccount, kubernetes, folder } = flags
  return {
    ...{ platformUrl, publicUrl, otlpEndpoint, projects: flags.project, groups },
    ...{ observabilityUrl, serviceAccount, kubernetes, folder },
    ...(ownerToken !== undefined && ownerToken !== '' && { ownerToken: new Secret(ownerToken) }),
    ...(apiKey !== undefined && apiKey !== '' && { apiKey: new Secret(apiKey) }),
  }
}

/** Asks the user a question. Returns the answer, or undefined if there is no terminal. */
export async function asked(question: string, terminal: Terminal): Promise<string | undefined> {
  if (!isPerson(terminal)) return undefined
  const { stdin, stdout } = terminal
  return answered(createInterface({ input: stdin, output: stdout }), `${question}: `)
}

/** Asks the user for a secret, without echoing it. Returns the secret, or undefined if there is no terminal. */
export async function askedInSecret(question: string, terminal: Terminal): Promise<string | undefined> {
  if (!isPerson(terminal)) return undefined
  const { stdin, stdout } = terminal
  stdout.write(`${question}: `)
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() })
  try {
    return await answered(createInterface({ input: stdin, output: nowhere, terminal: true }), '')
  } finally {
    stdout.write('\n')
  }
}

type PersonsTerminal = Terminal & { readonly stdin: NodeJS.ReadableStream }

/**
 * Whether stdin and stdout are an interactive terminal. Answers are never read from a pipe, because the first question would consume all of the
 * input.
 */
function isPerson(terminal: Terminal): terminal is PersonsTerminal {
  const { stdin, stdout } = terminal
  return stdout.isTTY === true && stdin !== undefined && (stdin as { isTTY?: boolean }).isTTY === true
}

/** Asks a question. Throws a misuse error if the user aborts or closes the input (Ctrl-C, Ctrl-D): without an answer, nothing is done. */
async function answered(lines: Interface, question: string): Promise<string> {
  const left = new Promise<never>((_, reject) => {
    lines.once('close', () => reject(misuse('Nothing was done: the question was not answered.')))
  })
  try {
    return (await Promise.race([lines.question(question).catch(async () => left), left])).trim()
  } finally {
    left.catch(() => undefined)
    lines.close()
  }
}

// A step of the setup: a description of what it does, how to undo it, and an idempotent `run`.
export interface SetupStep {
  readonly name: string
  /** A sentence that describes what the step does. */
  readonly does: string
  /** How to undo the step. If undefined, the step cannot be undone. */
  readonly undo?: string | undefined
  /** Whether only a person can do the step. If so, `run` checks whether the step was done. */
  readonly byPerson?: boolean | undefined
  /** A warning that is printed below the plan, as a sentence. */
  readonly warns?: string | undefined
  readonly run: (context: StepContext) => Promise<StepOutcome>
}

export interface StepContext {
  readonly journal: SetupJournal
  readonly terminal: Terminal
  /** A client that uses the owner's token. Undefined if there is no such token. */
  readonly platform: CommandClient | undefined
  /** Creates a client with another token, to test that token. The client is closed when the setup ends. */
  readonly connect: (token: Secret) => CommandClient
  /** Creates tokens at the observability instance. Undefined if the instance's address or API key is missing. */
  readonly instance: TokenMaker | undefined
}

export interface StepOutcome {
  readonly is: 'done' | 'waiting'
  /** Describes what was done or, for a step that only a person can do, what that person must do. */
  readonly message: string
}
