// The commands `pipespan tokens list | create | revoke`, which manage the observability instance's ingest tokens by hand.
import { plainLine } from '../../lib/plain-text.ts'
import { createFileTarget } from './file-target.ts'
import { fingerprintOf } from '../../lib/secret.ts'
import { InstanceError } from './instance-error.ts'
import type { ListedToken } from './listed-token.ts'
import { complain, print, table, type Terminal, printJson } from '../../lib/terminal.ts'
import { rotateCommand, type RotateAction } from './rotate-command.ts'
import type { Journal } from './journal.ts'
import { refuse, tokensExit, type TokensSetup } from './command-setup.ts'

export type TokensAction =
  | { readonly action: 'list'; readonly json: boolean }
  /** Creates a token. Without a target, the token's value is printed once, to standard output. */
  | {
      readonly action: 'create'
      readonly name: string
      readonly target?: string | undefined
      readonly json: boolean
    }
  | { readonly action: 'revoke'; readonly id: string; readonly force: boolean; readonly json: boolean }
  | RotateAction

/** Runs one of the `pipespan tokens` commands and returns its exit code (`tokensExit`). Throws a Fault if the command fails. */
export async function tokensCommand(action: TokensAction, setup: TokensSetup, terminal: Terminal): Promise<number> {
  switch (action.action) {
    case 'list':
      return await list(action.json, setup, terminal)
    case 'create':
      return await create(action, setup, terminal)
    case 'revoke':
      return await revoke(action, setup, terminal)
    case 'rotate':
      return await rotateCommand(action, setup, terminal)
  }
}

async function list(json: boolean, setup: TokensSetup, terminal: Terminal): Promise<number> {
  const tokens = await setup.instance.list()
  const evidence = await evidenceOf(setup)
  const rows = tokens.map(token => ({ ...token, use: token.valid ? useOf(token.id, evidence) : 'not in use' }))
  if (json) {
    printJson(terminal, rows.map(jsonOf), 2)
    return tokensExit.done
  }
  if (rows.length === 0) complain(terminal, 'There are no ingest tokens; `pipespan tokens create` makes one.')
  const heading = ['ID', 'NAME', 'CREATED', 'LAST USED', 'VALID', 'USE']
  const cells = rows.map(row => [
    row.id,
    row.name ?? '-',
    iso(row.createdAt),
    iso(row.lastUsedAt),
    row.valid ? 'yes' : 'no',
    row.use,
  ])
  if (rows.length > 0) print(terminal, table([heading, ...cells]))
  return tokensExit.done
}

async function create(
  { name, target, json }: TokensAction & { action: 'create' },
  setup: TokensSetup,
  terminal: Terminal,
): Promise<number> {
  if (target !== undefined) {
    // With a target, `tokens create` runs a rotation that revokes nothing. It therefore takes the same precautions, and the new token is recorded in
    // the target's journal.
    const rotate = {
      action: 'rotate',
      name,
      target,
      graceMs: 0,
      json,
      dryRun: false,
      adopt: false,
      force: false,
    } as const
    return await rotateCommand({ ...rotate, keepOlder: true }, setup, terminal)
  }
  const { value, id } = await setup.instance.create(name).catch((error: unknown) => {
    if (!(error instanceof InstanceError) || !error.uncertain) throw error
    const { message, status, uncertain } = error
    const remedy = `A token named ${plainLine(name)} may have been created, and its value is lost: find it with \`pipespan tokens list\`, and end it with \`pipespan tokens revoke ID\`.`
    throw new InstanceError(message, remedy, { status, uncertain })
  })
  if (json) printJson(terminal, { id: id ?? null, name, token: value.reveal() }, 2)
  else print(terminal, value.reveal())
  complain(terminal, `Created${id === undefined ? '' : ` as ${plainLine(id)}`}. This value is not shown again.`)
  return tokensExit.done
}

async function revoke(
  { id, force, json }: TokensAction & { action: 'revoke' },
  setup: TokensSetup,
  terminal: Terminal,
): Promise<number> {
  const valid = (await setup.instance.list()).filter(token => token.valid)
  if (!valid.some(token => token.id === id)) {
    complain(terminal, `There is no valid ingest token ${id}. \`pipespan tokens list\` shows the valid ones.`)
    return tokensExit.failed
  }
  const reason = await reasonToKeep(id, valid, force, setup)
  if (reason !== undefined) return refuse(terminal, plainLine(`Token ${id} is not revoked: ${reason}`))
  const revocation = await setup.instance.revoke(id)
  if (revocation === 'last') return refuse(terminal, `Token ${id} is not revoked: ${lastUnderEnforcement}`)
  if ((await setup.instance.list()).some(token => token.valid && token.id === id)) {
    complain(
      terminal,
      `The instance accepted the revocation of token ${plainLine(id)}, but still lists it as valid. \`pipespan tokens list\` shows it.`,
    )
    return tokensExit.failed
  }
  if (json) printJson(terminal, { id, revoked: true }, 2)
  else print(terminal, `Token ${id} is revoked.`)
  return tokensExit.done
}

const lastUnderEnforcement =
  'it is the last valid one, and enforcement is on: all telemetry would be dropped. Create another first, or run `pipespan enforcement off`.'

async function reasonToKeep(
  id: string,
  valid: readonly ListedToken[],
  force: boolean,
  setup: TokensSetup,
): Promise<string | undefined> {
  const use = useOf(id, await evidenceOf(setup))
  if (use === 'in use') {
    return 'it is in use, and telemetry sent with it would be refused. `pipespan tokens rotate` replaces it, then revokes it.'
  }
  if (valid.length === 1) {
    if (await setup.instance.enforcement()) return lastUnderEnforcement
    if (!force) return 'it is the last valid one. Enforcement is off, so nothing would be dropped: repeat with --force.'
  }
  if (use === 'unknown' && !force) {
    return 'it may be the one in use: the id of the token in use is unknown here. If you are sure it is another, repeat with --force.'
  }
  return undefined
}

/** Whether a token is in use. `unknown`: daemons use a token whose ID is unknown, and this may be that token. */
type TokenUse = 'in use' | 'not in use' | 'unknown'

interface UseEvidence {
  /** The journals that belong to this instance. */
  readonly journals: readonly Journal[]
  /** The fingerprints of the tokens that daemons send now or will send after their next start. */
  readonly used: ReadonlySet<string>
  /** Whether all used tokens are known: false if the store did not respond, because daemons may then use others. */
  readonly isComplete: boolean
}

/** Whether a listed token is in use. The instance lists IDs, daemons report fingerprints, and journals contain both. */
function useOf(id: string, { journals, used, isComplete }: UseEvidence): TokenUse {
  const fingerprints = new Map<string, string>()
  for (const { older, current, rotation } of journals) {
    for (const token of [...older, current, rotation?.token]) {
      if (token?.fingerprint !== undefined) fingerprints.set(token.id, token.fingerprint)
    }
  }
  // A token that is in a target counts as in use, even if no daemon reports it.
  if (journals.some(journal => journal.current?.id === id)) return 'in use'
  const fingerprint = fingerprints.get(id)
  if (fingerprint !== undefined && used.has(fingerprint)) return 'in use'
  if (!isComplete) return 'unknown'
  if (fingerprint !== undefined) return 'not in use'
  const known = new Set(fingerprints.values())
  return [...used].every(token => known.has(token)) ? 'not in use' : 'unknown'
}

/** Collects the evidence for which tokens are in use: journals in the store and next to token files, and daemons' reports. */
async function evidenceOf({ store, tokenFiles, senders, instance }: TokensSetup): Promise<UseEvidence> {
  const kept = await Promise.all([store?.journals(), store?.tokenReports()]).catch(() => 'away' as const)
  const [copies = [], reports = []] = kept === 'away' ? [] : kept
  const beside = await Promise.all(tokenFiles.map(async file => (await createFileTarget(file).peek()).journal ?? []))
  const current = (await Promise.all(senders.map(async ({ tokens }) => tokens()))).flat()
  return {
    journals: [...copies, ...beside.flat()].filter(found => found.instance === instance.url),
    used: new Set([...reports.map(report => report.tokenFingerprint), ...current.map(fingerprintOf)]),
    isComplete: kept !== 'away',
  }
}

function jsonOf({ id, name, createdAt, lastUsedAt, valid, use }: ListedToken & { readonly use: string }): object {
  return {
    id,
    name: name ?? null,
    createdAt: createdAt === undefined ? null : iso(createdAt),
    lastUsedAt: lastUsedAt === undefined ? null : iso(lastUsedAt),
    valid,
    use,
  }
}

function iso(time: number | undefined): string {
  return time === undefined ? '-' : new Date(time).toISOString()
}
