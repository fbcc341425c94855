// `pipespan enforcement status | on | off`: shows or sets whether the observability instance drops telemetry without a valid token.
import type { Proof } from './otlp-proof.ts'
import { plainLine } from '../../lib/plain-text.ts'
import { print, type Terminal, printJson } from '../../lib/terminal.ts'
import { refuse, tokensExit, type TokenSender, type TokensSetup } from './command-setup.ts'

type EnforcementSetup = Pick<TokensSetup, 'instance' | 'senders'>

interface EnforcementAction {
  readonly action: 'status' | 'on' | 'off'
  /** If true, enforcement is turned on even if it is unknown whether the instance accepts the daemon's token. */
  readonly force: boolean
  readonly json: boolean
}

/** Runs one of the enforcement commands and returns its exit code (`tokensExit`). Throws a Fault. */
export async function enforcementCommand(
  { action, force, json }: EnforcementAction,
  setup: EnforcementSetup,
  terminal: Terminal,
): Promise<number> {
  const { instance } = setup
  if (action === 'on' && !force) {
    const refusal = await turnOnSafely(setup)
    return refusal === undefined ? show(true, json, terminal) : refuse(terminal, refusal)
  }
  const enabled = action === 'status' ? await instance.enforcement() : await instance.setEnforcement(action === 'on')
  return show(enabled, json, terminal)
}

function show(enabled: boolean, json: boolean, terminal: Terminal): number {
  const meaning = enabled ? 'on: telemetry without a valid token is dropped' : 'off: telemetry needs no token'
  if (json) printJson(terminal, { enabled }, 2)
  else print(terminal, `Enforcement is ${meaning}.`)
  return tokensExit.done
}

/**
 * Turns enforcement on, or returns why it was not turned on. While it is off, an endpoint may accept any token, so every token is tested again
 * immediately afterwards. If one is then rejected, enforcement is turned off again.
 */
async function turnOnSafely({ instance, senders }: EnforcementSetup): Promise<string | undefined> {
  const tests = await testsOf(senders)
  if (tests.length === 0) {
    return 'Enforcement is unchanged: the daemon has no token, and all it sends would be dropped. Create one with `pipespan tokens create --target`, or repeat with --force.'
  }
  const before = await firstFailure(tests)
  if (before !== undefined) return `Enforcement is unchanged: ${before}`
  const wasOn = await instance.enforcement()
  await instance.setEnforcement(true)
  const after = await firstFailure(tests)
  if (after === undefined || wasOn) return undefined
  await instance.setEnforcement(false)
  return `Enforcement was turned on and off again at once: ${after}`
}

interface TokenTest {
  /** The name of the destination. */
  readonly name: string
  readonly run: () => Promise<Proof>
}

async function testsOf(senders: readonly TokenSender[]): Promise<TokenTest[]> {
  const tests = senders.map(async ({ name, tokens, prove }) =>
    (await tokens()).map(token => ({ name, run: async () => prove(token) })),
  )
  return (await Promise.all(tests)).flat()
}

async function firstFailure(tests: readonly TokenTest[]): Promise<string | undefined> {
  for (const { name, run } of tests) {
    const proof = await run()
    if (proof.kind !== 'accepted') return reasonOf(name, proof)
  }
  return undefined
}

function reasonOf(destination: string, proof: Exclude<Proof, { kind: 'accepted' }>): string {
  const endpoint = `the OTLP endpoint of "${plainLine(destination)}"`
  return proof.kind === 'refused'
    ? `${endpoint} does not accept the daemon's token (${proof.status}). Rotate it with \`pipespan tokens rotate\`, or repeat with --force.`
    : `${endpoint} does not indicate whether it accepts the daemon's token (${proof.reason}). Check the endpoint, or repeat with --force.`
}
