// Creates a token, also where the instance is overloaded for a moment. A 503 leaves open whether the token was created, and its value is lost: so what
// has appeared since is revoked.
import { InstanceError } from './instance-error.ts'
import type { CreatedToken, IngestTokens } from './ingest-tokens.ts'
import type { Pauses } from './pauses.ts'

export async function createAgain(
  name: string,
  { create, list, revoke }: Pick<IngestTokens, 'create' | 'list' | 'revoke'>,
  pauses: Pauses,
): Promise<CreatedToken> {
  const ids = async (): Promise<readonly string[]> =>
    (await list()).filter(token => token.valid && (token.name ?? name) === name).map(({ id }) => id)
  // Without a list there is no second try; why it is refused, the creation says as well.
  const before = await ids().catch(() => undefined)
  /** The last valid token cannot be revoked while enforcement is on, but as soon as there is another one. */
  const kept: string[] = []
  for (;;) {
    try {
      const token = await create(name)
      // The new value must not get lost for an older token that cannot be revoked.
      for (const id of kept) await revoke(id).catch(() => undefined)
      return token
    } catch (error) {
      if (!(error instanceof InstanceError) || error.status !== 503) throw error
      if (before === undefined || !(await pauses.rest(error))) throw error
      const [orphan, ...others] = (await ids()).filter(id => !before.includes(id) && !kept.includes(id))
      // Somebody else creates tokens of this name: which one is ours is unknown.
      if (others.length > 0) throw error
      if (orphan !== undefined && (await revoke(orphan)) === 'last') kept.push(orphan)
    }
  }
}
