// Makes the header for each type of token (REST document, "Authentication").
import { PlatformError } from '../port.ts'

/** `private`: a personal, project or group access token. `bearer`: an OAuth token. `job`: a CI/CD job token. */
export type TokenType = 'private' | 'bearer' | 'job'

/** The characters of a header's value except blanks (RFC 9110, 5.5). */
const sendable = /^[\x21-\x7e]+$/

/** The header for a token, or no header without a token. Throws a PlatformError if no header can carry the token. */
export function credentialHeaders(type: TokenType, token: string | undefined): Record<string, string> {
  if (token === undefined) return {}
  if (!sendable.test(token)) {
    throw new PlatformError({
      kind: 'unauthorized',
      what: 'The platform token contains blanks, line breaks or characters that no HTTP header can carry.',
      remedy: 'Check PIPESPAN_PLATFORM_TOKEN or its file: it must contain only the token.',
    })
  }
  switch (type) {
    case 'private':
      return { 'private-token': token }
    case 'bearer':
      return { authorization: `Bearer ${token}` }
    case 'job':
      return { 'job-token': token }
  }
}

/** The token without surrounding blanks and line breaks; undefined if nothing is left. */
export function trimToken(token: string | undefined): string | undefined {
  const trimmed = token?.trim()
  return trimmed === undefined || trimmed === '' ? undefined : trimmed
}
