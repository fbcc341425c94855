// Recognises another service in place of the expected one: a web page, such as a proxy's login page, or OTLP/gRPC at the address of OTLP/HTTP.
// Exports, `doctor` and the configuration warnings give the same advice.

/**
 * Whether a response is a web page. True for a body with markup, whatever its content type, and for a body of type HTML unless it is text without
 * markup. Some receivers declare this type for an empty body, JSON or `OK`; their response is not a page.
 */
export function isWebPage(body: Uint8Array, contentType: string | undefined): boolean {
  const text = new TextDecoder().decode(body)
  // Only a `<` that is followed by a letter, `!`, `?` or `/` indicates markup, because a partial success in protobuf may begin with a line feed and
  // `<`.
  if (/^\s*<[!?/a-z]/i.test(text)) return true
  return isHtml(contentType) && !isJsonText(text) && (text.includes('<') || isBinary(text))
}

export function isHtml(contentType: string | undefined): boolean {
  return /^\s*(text\/html|application\/xhtml)/i.test(contentType ?? '')
}

/** Whether a string contains characters that occur only in a binary message or a compressed page. */
export function isBinary(text: string): boolean {
  return /[^\P{Cc}\t\r\n]|\uFFFD/u.test(text)
}

function isJsonText(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** The end of a message that explains why a service probably uses OTLP/gRPC. */
export const useOtlpHttp = 'OTLP/HTTP usually listens at 4318'

export const isOtlpGrpc = `this is OTLP/gRPC; ${useOtlpHttp}`

/** Whether the URL has the port that the OTLP specification assigns to gRPC, or a port that hosted backends derive from it. */
export function isGrpcPort(url: string): boolean {
  return ['4317', '14317'].includes(new URL(url).port)
}

/** Whether the string is the sentence with which gRPC servers reject HTTP/1.1 requests. The Go and .NET servers send such a sentence. */
export function isRefusedByGrpc(message: string | undefined): boolean {
  return /\bgRPC requires HTTP\/2\b|\bHTTP\/2 only endpoint\b/i.test(message ?? '')
}

export function isGrpc(contentType: string | undefined): boolean {
  return /^\s*application\/grpc\b/i.test(contentType ?? '')
}

// Describes the behaviour of an address that returned no HTTP response, based on the request's error: the address uses another protocol, or does not
// respond.
/** Returns a clause such as `it closes the connection`; undefined if nothing listens at the address or the error does not indicate what happened. */
export function symptomOf(error: unknown): string | undefined {
  const code = codeOf(error)
  if (speaksHttp2(error)) return 'it speaks HTTP/2 only, as gRPC does'
  if (code.startsWith('HPE_') || (error instanceof Error && error.name === 'HTTPParserError')) {
    return 'its response is not HTTP'
  }
  if (notTls.has(code)) return 'it does not speak HTTPS'
  // The connection was accepted and then closed without a response, so a server for another protocol listens at the address.
  if (code === 'UND_ERR_SOCKET' || code === 'ECONNRESET') return 'it closes the connection'
  const silent = code === 'UND_ERR_HEADERS_TIMEOUT' || code === 'UND_ERR_BODY_TIMEOUT'
  return silent ? 'it accepts the connection but does not answer' : undefined
}

/**
 * Whether the server uses HTTP/2: it responded with HTTP/2 frames, the first of which is SETTINGS or GOAWAY (RFC 9113, 3.4), or with the client
 * preface, or it accepts no other protocol over TLS.
 */
export function speaksHttp2(error: unknown): boolean {
  if (codeOf(error) === 'ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL') return true
  if (!(error instanceof Error && 'data' in error && typeof error.data === 'string')) return false
  const { data } = error
  // An HTTP/2 frame begins with its length in three bytes, followed by its type.
  const isFrame = data.charCodeAt(0) === 0 && [4, 7].includes(data.charCodeAt(3))
  return isFrame || data.startsWith('PRI * HTTP/2')
}

/** OpenSSL's error codes, as Node reports them, for bytes that are not TLS at all. */
const notTls: ReadonlySet<string> = new Set([
  'EPROTO',
  'ERR_SSL_WRONG_VERSION_NUMBER',
  'ERR_SSL_PACKET_LENGTH_TOO_LONG',
  'ERR_SSL_HTTP_REQUEST',
  'ERR_SSL_UNEXPECTED_EOF_WHILE_READING',
])

/**
 * Returns the error code of the system or a library, such as `ECONNREFUSED`. If several addresses were tried, it returns the code of the first one.
 */
export function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return ''
  if (error instanceof AggregateError && error.errors.length > 0) return codeOf(error.errors[0])
  const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
  return code === '' && error.cause !== undefined ? codeOf(error.cause) : code
}
