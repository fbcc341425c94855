// The key that signs the forms of people who have no session: one for all replicas, which also outlives a restart. It is derived from the admin
// token; without one it is drawn once and stored. The store's content alone forges no form: the request must also come from our own page, and from
// whom the proxy has logged in or from this machine.
import { randomBytes } from 'node:crypto'
import { reasonOf } from '../../lib/fault.ts'
import { Secret } from '../../lib/secret.ts'
import { sparseWarnings } from '../../lib/sparse-warnings.ts'
import type { Log } from '../../lib/log.ts'
import type { Repositories } from '../../core/store/ports/repository.ts'

export interface FormKeyParts {
  /** The current admin token. */
  readonly token: () => Secret | undefined
  readonly formKeys: Pick<Repositories['formKeys'], 'change'>
  readonly log: Log
}

export function createFormKey({ token, formKeys, log }: FormKeyParts): () => Promise<Secret> {
  const warn = sparseWarnings(log, () => performance.now())
  const drawn = { key: randomBytes(32).toString('base64url') }
  let stored: Secret | undefined
  return async () => {
    const configured = token()
    if (configured !== undefined) return configured
    try {
      stored ??= new Secret(await formKeys.change({}, (known = drawn) => ({ document: known, result: known.key })))
      return stored
    } catch (error) {
      // On a full disk people still need the pages.
      warn('form key', 'the key of forms could not be stored: they are valid in this process alone', {
        cause: reasonOf(error),
      })
      return new Secret(drawn.key)
    }
  }
}
