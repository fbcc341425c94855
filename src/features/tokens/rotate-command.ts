// The command `pipespan tokens rotate`: runs a token rotation and turns its outcome into a sentence and an exit code.
import { plainLine } from '../../lib/plain-text.ts'
import { createFileTarget } from './file-target.ts'
import { createKubernetesTarget } from './kubernetes-target.ts'
import { parseTarget } from './target.ts'
import { rotateToken } from './rotation.ts'
import { planRotation } from './rotation-plan.ts'
import type { RotationOptions, RotationOutcome, RotationParts } from './rotation-session.ts'
import { complain, print, type Terminal, printJson } from '../../lib/terminal.ts'
import { tokensExit, type TokensSetup } from './command-setup.ts'

export interface RotateAction extends RotationOptions {
  readonly action: 'rotate'
  /** The target's address: `file:/path` or `kubernetes:NAMESPACE/SECRET/KEY`. */
  readonly target: string
  readonly dryRun: boolean
  readonly json: boolean
}

/** Runs a token rotation. It prints progress to standard error and the outcome to standard output. Throws a Fault if the rotation cannot continue. */
export async function rotateCommand(action: RotateAction, setup: TokensSetup, terminal: Terminal): Promise<number> {
  const { clock, timeoutMs } = setup
  const address = parseTarget(action.target)
  const parts: RotationParts = {
    ...setup,
    target:
      address.kind === 'file'
        ? createFileTarget(address.path)
        : createKubernetesTarget(address, { clock, env: terminal.env, timeoutMs }),
    progress: (point, text) => {
      complain(terminal, plainLine(point === 'warning' ? `Warning: ${text}` : text))
    },
  }
  if (action.dryRun) {
    const plan = await planRotation(parts, action)
    if (action.json) printJson(terminal, { outcome: 'planned', plan }, 2)
    else for (const line of plan) print(terminal, plainLine(line))
    return tokensExit.done
  }
  const outcome = await rotateToken(parts, action)
  const { kind, ...facts } = outcome
  if (action.json) printJson(terminal, { outcome: kind, ...facts }, 2)
  else print(terminal, plainLine(sentenceOf(outcome)))
  return codeOf(outcome)
}

function codeOf({ kind }: RotationOutcome): number {
  if (kind === 'kept') return tokensExit.kept
  return kind === 'busy' ? tokensExit.busy : tokensExit.done
}

function ageOf(ms: number): string {
  const minutes = Math.round(ms / 60_000)
  if (minutes < 120) return `${minutes} min`
  return minutes < 2_880 ? `${Math.round(minutes / 60)} h` : `${Math.round(minutes / 1_440)} days`
}

function sentenceOf(outcome: RotationOutcome): string {
  switch (outcome.kind) {
    case 'rotated': {
      const revoked = outcome.revoked.length === 0 ? 'nothing revoked' : `revoked: ${outcome.revoked.join(', ')}`
      return `Token ${outcome.tokenId} (${outcome.fingerprint}) is in use; ${revoked}.`
    }
    case 'young':
      return `Nothing to do: the current token is ${ageOf(outcome.ageMs)} old.`
    case 'kept':
      return (
        `The target has the new token, but the older ones stay valid: ${outcome.missing.join(', ')} did not report it in time. ` +
        'Run again when they have read it, or with --force.'
      )
    case 'busy':
      return outcome.reason
  }
}
