// What an address does that gave no HTTP answer, from the error of the request: it speaks another protocol, or stays silent.

/** As a clause, such as `it closes the connection`; undefined where nothing listens there, or where the error does not show it. */
export function strangerBy(error: unknown): string | undefined {
  const code = codeOf(error)
  if (speaksHttp2(error)) return 'it speaks HTTP/2 only, as gRPC does'
  if (code.startsWith('HPE_') || (error instanceof Error && error.name === 'HTTPParserError')) {
    return 'its answer is not HTTP'
  }
  if (notTls.has(code)) return 'it does not speak HTTPS'
  // The connection was accepted, then closed without an answer: a server of another protocol listens there.
  if (code === 'UND_ERR_SOCKET' || code === 'ECONNRESET') return 'it closes the connection'
  const silent = code === 'UND_ERR_HEADERS_TIMEOUT' || code === 'UND_ERR_BODY_TIMEOUT'
  return silent ? 'it accepts the connection but does not answer' : undefined
}

/**
 * True if it answered with frames of HTTP/2, of which the first is SETTINGS or GOAWAY (RFC 9113, 3.4), with the preface of a client, or if it takes no
 * other protocol over TLS.
 */
export function speaksHttp2(error: unknown): boolean {
  if (codeOf(error) === 'ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL') return true
  if (!(error instanceof Error && 'data' in error && typeof error.data === 'string')) return false
  const { data } = error
  // A frame begins with its length in three bytes, and its type.
  const isFrame = data.charCodeAt(0) === 0 && [4, 7].includes(data.charCodeAt(3))
  return isFrame || data.startsWith('PRI * HTTP/2')
}

/** Codes of OpenSSL, as Node passes them on, for bytes that are no TLS at all. */
const notTls: ReadonlySet<string> = new Set([
  'EPROTO',
  'ERR_SSL_WRONG_VERSION_NUMBER',
  'ERR_SSL_PACKET_LENGTH_TOO_LONG',
  'ERR_SSL_HTTP_REQUEST',
  'ERR_SSL_UNEXPECTED_EOF_WHILE_READING',
])

/** The code of the system or a library, such as `ECONNREFUSED`; where several addresses were tried, that of the first. */
export function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return ''
  if (error instanceof AggregateError && error.errors.length > 0) return codeOf(error.errors[0])
  const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
  return code === '' && error.cause !== undefined ? codeOf(error.cause) : code
}
