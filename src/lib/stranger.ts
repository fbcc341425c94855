// Finds out who gave no answer over HTTP: somebody of another protocol, somebody silent, or nobody.

/** Who is there by the error of a request, as `it closes the connection`; undefined where nobody is, or where it is not known. */
export function strangerBy(error: unknown): string | undefined {
  const code = codeOf(error)
  if (code.startsWith('HPE_') || (error instanceof Error && error.name === 'HTTPParserError')) {
    return 'its answer is not HTTP'
  }
  if (notTls.has(code)) return 'it does not speak HTTPS'
  // A connection that was made and closed again without a word: somebody listens, for something else.
  if (code === 'UND_ERR_SOCKET' || code === 'ECONNRESET') return 'it closes the connection'
  const silent = code === 'UND_ERR_HEADERS_TIMEOUT' || code === 'UND_ERR_BODY_TIMEOUT'
  return silent ? 'it accepts the connection but does not answer' : undefined
}

/** OpenSSL's words for bytes that are no TLS at all, as Node passes them on. */
const notTls: ReadonlySet<string> = new Set([
  'EPROTO',
  'ERR_SSL_WRONG_VERSION_NUMBER',
  'ERR_SSL_PACKET_LENGTH_TOO_LONG',
  'ERR_SSL_HTTP_REQUEST',
  'ERR_SSL_UNEXPECTED_EOF_WHILE_READING',
])

/** The system's or a library's code; of several addresses tried that of the first. */
export function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return ''
  if (error instanceof AggregateError && error.errors.length > 0) return codeOf(error.errors[0])
  const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
  return code === '' && error.cause !== undefined ? codeOf(error.cause) : code
}
