// `pipespan enforcement status | on | off`: shows or sets whether the observability instance drops telemetry without a valid token.
import type { Proof } from './otlp-proof.ts'
import { print, type Terminal, printJson } from '../../lib/terminal.ts'
import { refuse, tokensExit, type TokensSetup } from './command-setup.ts'

type EnforcementSetup = Pick<TokensSetup, 'instance' | 'prove' | 'currentToken'>

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
 * Turns enforcement on, or returns why it was not turned on. While it is off, an endpoint may accept any token, so the token is tested again
 * immediately afterwards. If the token is then rejected, enforcement is turned off again.
 */
async function turnOnSafely({ instance, prove, currentToken }: EnforcementSetup): Promise<string | undefined> {
  const token = await currentToken()
  if (token === undefined) {
    return 'Enforcement is unchanged: the daemon has no token, and all it sends would be dropped. Create one with `pipespan tokens create --target`, or repeat with --force.'
  }
  const before = await prove(token)
  if (before.kind !== 'accepted') return `Enforcement is unchanged: ${reasonOf(before)}`
  const wasOn = await instance.enforcement()
  await instance.setEnforcement(true)
  const after = await prove(token)
  if (after.kind === 'accepted' || wasOn) return undefined
  await instance.setEnforcement(false)
  return `Enforcement was turned on and off again at once: ${reasonOf(after)}`
}

function reasonOf(proof: Exclude<Proof, { kind: 'accepted' }>): string {
  return proof.kind === 'refused'
    ? `the OTLP endpoint does not accept the daemon's token (${proof.status}). Rotate it with \`pipespan tokens rotate\`, or repeat with --force.`
    : `the OTLP endpoint does not say whether it accepts the daemon's token (${proof.reason}). Check the endpoint, or repeat with --force.`
}
