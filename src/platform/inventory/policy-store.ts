// Asks whether the policy store is on. It is experimental, and nothing of it is exported: its decisions arrive as audit events.
import { z } from 'zod'
import { PlatformError } from '../port.ts'
import { reasonOf } from '../../lib/fault.ts'
import type { Asking } from '../port/asking.ts'

/** Undefined: it is on. Otherwise a sentence that says why it is not, or why that is not known. */
export async function whyNoPolicyStore(ask: Pick<Asking, 'one'>): Promise<string | undefined> {
  try {
    await ask.one('/security/policy_store/triggers', z.array(z.unknown()))
    return undefined
  } catch (error) {
    if (!(error instanceof PlatformError)) return `The policy store could not be asked: ${reasonOf(error)}.`
    // As for the firewall, the keys of a 404 decide: with `error` alone the platform has no such endpoint.
    const { status, code, keys } = error
    if (status === 404 && keys.includes('error') && !keys.includes('message'))
      return 'This platform has no policy store.'
    if (status === 404) return 'The policy store (experimental) is off.'
    if (status === 403 && code === undefined)
      return 'The policy store is not licensed on this platform, or this token may not see it.'
    return `The policy store could not be asked: ${error.message}`
  }
}
