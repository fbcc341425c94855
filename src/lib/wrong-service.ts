// Recognizes what answers in place of the service that was asked: a web page, such as the login page of a proxy, and OTLP/gRPC at the address of
// OTLP/HTTP, with what to do: the same sentence in exports, in `doctor` and in the configuration's warnings.

/**
 * True for a body with markup, whatever type it has, and for a body of the type HTML that is no text without markup: a receiver that names this type
 * for an empty body, JSON or `OK` is lax, and no page.
 */
export function isWebPage(body: Uint8Array, contentType: string | undefined): boolean {
  const text = new TextDecoder().decode(body)
  // A letter or a sign must follow: a partial success in protobuf may begin with a line feed and `<`.
  if (/^\s*<[!?/a-z]/i.test(text)) return true
  return isHtml(contentType) && !isJsonText(text) && (text.includes('<') || isBinary(text))
}

export function isHtml(contentType: string | undefined): boolean {
  return /^\s*(text\/html|application\/xhtml)/i.test(contentType ?? '')
}

/** True for characters that no text has: those of a message, or of a compressed page. */
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

/** The rest of a sentence that begins with why it is gRPC. */
export const useOtlpHttp = 'OTLP/HTTP usually listens at 4318'

export const isOtlpGrpc = `this is OTLP/gRPC; ${useOtlpHttp}`

/** True for the port that the OTLP specification gives to gRPC, and for one that hosted backends derive from it. */
export function isGrpcPort(url: string): boolean {
  return ['4317', '14317'].includes(new URL(url).port)
}

/** Servers of gRPC that have a sentence in HTTP/1.1 for such requests: those of Go and of .NET. */
export function isRefusedByGrpc(words: string | undefined): boolean {
  return /\bgRPC requires HTTP\/2\b|\bHTTP\/2 only endpoint\b/i.test(words ?? '')
}

export function isGrpc(contentType: string | undefined): boolean {
  return /^\s*application\/grpc\b/i.test(contentType ?? '')
}
