// Recognizes a web page that answers in place of the service that was asked, such as the login page of a proxy.

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
