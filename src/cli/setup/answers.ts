// What `pipespan setup` must know: from its flags and variables, and where a person sits at a terminal from questions.
import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import { misuse } from '../command-line.ts'
import { Secret } from '../../lib/secret.ts'
import type { Terminal } from '../terminal.ts'

export interface SetupFlags {
  readonly platformUrl?: string | undefined
  readonly project: readonly string[]
  readonly group: readonly string[]
  readonly publicUrl?: string | undefined
  readonly otlpEndpoint?: string | undefined
  readonly observabilityUrl?: string | undefined
  readonly serviceAccount?: string | undefined
  readonly kubernetes?: string | undefined
  readonly folder: string
  readonly dryRun: boolean
  readonly yes: boolean
}

export interface SetupAnswers {
  readonly platformUrl: string
  /** Whose hooks are made. */
  readonly projects: readonly string[]
  readonly groups: readonly string[]
  /** Where the platform reaches the daemon. */
  readonly publicUrl: string
  readonly otlpEndpoint: string
  readonly observabilityUrl?: string | undefined
  /** The group that the service account belongs to, or `instance`; undefined: none is made. */
  readonly serviceAccount?: string | undefined
  /** The namespace of the Secret's manifest; undefined: none is written. */
  readonly kubernetes?: string | undefined
  readonly folder: string
  /** An owner's; undefined: then a person makes hooks and the service account. */
  readonly ownerToken?: Secret | undefined
  /** Of the observability instance. */
  readonly apiKey?: Secret | undefined
}

/** Asks for what is missing where it can; else throws what ends the program with "misused". */
export async function answersOf(flags: SetupFlags, terminal: Terminal): Promise<SetupAnswers> {
  const missing: string[] = []
  const say = async (flag: string, given: string | undefined, question: string): Promise<string> => {
    const answer = given ?? (await asked(question, terminal))
    if (answer === undefined || answer === '') missing.push(flag)
    return answer ?? ''
  }
  const isUrl = (text: string): boolean => /^https?:\/\/./.test(text) && URL.canParse(text)
  const platformUrl = await say('--platform-url', flags.platformUrl, 'Address of the platform')
  const publicUrl = await say('--public-url', flags.publicUrl, 'Address at which the platform reaches this daemon')
  const otlpEndpoint = await say('--otlp-endpoint', flags.otlpEndpoint, 'OTLP/HTTP endpoint of the backend')
  const groups = [...flags.group]
  if (flags.project.length + groups.length === 0) {
    const named = await say('--group or --project', undefined, 'Groups whose pipelines are reported (comma-separated)')
    groups.push(...named.split(',').flatMap(name => (name.trim() === '' ? [] : [name.trim()])))
  }
  if (missing.length > 0) throw misuse(`There is no terminal to ask in. Give ${missing.join(', ')}.`)
  for (const url of [platformUrl, publicUrl, otlpEndpoint]) {
    if (!isUrl(url)) throw misuse(`${url} is not an http or https URL.`)
  }
  const ownerToken =
    terminal.env.PIPESPAN_SETUP_TOKEN ??
    (await askedInSecret('Token of an owner (empty: you create the webhooks)', terminal))
  const apiKey = terminal.env.PIPESPAN_OBSERVABILITY_API_KEY
  return {
    ...{ platformUrl, publicUrl, otlpEndpoint, projects: flags.project, groups },
    ...{ observabilityUrl: flags.observabilityUrl, serviceAccount: flags.serviceAccount },
    ...{ kubernetes: flags.kubernetes, folder: flags.folder },
    ...(ownerToken !== undefined && ownerToken !== '' && { ownerToken: new Secret(ownerToken) }),
    ...(apiKey !== undefined && apiKey !== '' && { apiKey: new Secret(apiKey) }),
  }
}

/** Undefined where nobody is there. */
export async function asked(question: string, { stdin, stdout }: Terminal): Promise<string | undefined> {
  if (stdin === undefined || stdout.isTTY !== true) return undefined
  const lines = createInterface({ input: stdin, output: stdout })
  try {
    return (await lines.question(`${question}: `)).trim()
  } finally {
    lines.close()
  }
}

/** What is typed is not shown. */
async function askedInSecret(question: string, { stdin, stdout }: Terminal): Promise<string | undefined> {
  if (stdin === undefined || stdout.isTTY !== true) return undefined
  stdout.write(`${question}: `)
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() })
  const lines = createInterface({ input: stdin, output: nowhere, terminal: true })
  try {
    return (await lines.question('')).trim()
  } finally {
    lines.close()
    stdout.write('\n')
  }
}
