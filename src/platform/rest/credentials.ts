// The header for each kind of token (REST document, "Authentication").
import { PlatformError } from '../port.ts'

/** `private`: a personal, project or group access token. `bearer`: an OAuth token. `job`: a CI/CD job token. */
export type TokenType = 'private' | 'bearer' | 'job'

/** RFC 9110, 5.5: the characters of a header's value, other than blanks. */
const sendable = /^[\x21-\x7e]+$/

/** The header for a token; none without a token. Throws a PlatformError if the token cannot be sent in a header. */
export function credentialHeaders(type: TokenType, token: string | undefined): Record<string, string> {
  if (token === undefined) return {}
  if (!sendable.test(token)) {
    throw new PlatformError({
      kind: 'unauthorized',
      what: 'The platform token holds blanks, line breaks or characters that no HTTP header can carry.',
      remedy: 'Check PIPESPAN_PLATFORM_TOKEN or its file: it must hold the token alone.',
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

/** The token without blanks and line breaks around it; undefined if it is empty. */
export function trimToken(token: string | undefined): string | undefined {
  const trimmed = token?.trim()
  return trimmed === undefined || trimmed === '' ? undefined : trimmed
}
