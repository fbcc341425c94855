// Extracts a backend's error message from a response body as one short line. The body may be a google.rpc.Status, JSON, a web page or plain text.
import protobuf from 'protobufjs/minimal.js'
import { briefly } from '../../lib/text-redaction.ts'
import { isBinary, isHtml } from '../../lib/wrong-service.ts'

/** The maximum length of a message. Longer messages are truncated. */
const maxLength = 300
/** The number of characters of a web page that are searched for a message. */
const maxPageLength = 16 * 1024

/** Returns the message in a body; undefined if there is none. */
export function messageOf(body: Uint8Array, contentType: string | undefined): string | undefined {
  if (body.length === 0) return undefined
  const text = new TextDecoder().decode(body)
  const message = isProtobuf(contentType) || isBinary(text) ? rpcMessage(body) : textMessage(text, contentType)
  return shorten(message ?? '')
}

/** Shortens a message to one line and removes secrets; undefined if nothing remains. */
export function shorten(text: string): string | undefined {
  return briefly(text, maxLength)
}

export function isJson(contentType: string | undefined): boolean {
  return /^application\/([\w.-]+\+)?json\b/i.test(contentType ?? '')
}

function isProtobuf(contentType: string | undefined): boolean {
  return /^application\/(x-|vnd\.google\.)?protobuf\b/i.test(contentType ?? '')
}

/**
 * Returns the `message` of a google.rpc.Status. The body of an OTLP/HTTP error has this type (OTLP specification, "Failures"; status.proto: `int32
 * code = 1; string message = 2; repeated Any details = 3`).
 */
function rpcMessage(body: Uint8Array): string | undefined {
  try {
    const reader = protobuf.Reader.create(body)
    while (reader.pos < reader.len) {
      const tag = reader.uint32()
      if (tag === ((2 << 3) | 2)) return reader.string()
      reader.skipType(tag & 7)
    }
  } catch {
    // The body is not a google.rpc.Status.
  }
  return undefined
}

function textMessage(text: string, contentType: string | undefined): string {
  if (isHtml(contentType) || /^\s*<(!doctype|html|head|body)/i.test(text)) return pageMessage(text)
  try {
    return jsonMessage(JSON.parse(text)) ?? text
  } catch {
    return text
  }
}

/** Returns the title of a web page, because proxies put the reason there. If there is no title, returns the text of the page without its tags. */
function pageMessage(text: string): string {
  const page = text.slice(0, maxPageLength)
  const title = /<title[^<>]*>([^<]*)</i.exec(page)?.[1]?.trim()
  if (title !== undefined && title !== '') return title
  return page.replace(/<(script|style)\b[\s\S]*?<\/\1>/gi, ' ').replace(/<[^<>]*>/g, ' ')
}

/** The JSON fields in which backends put their message. The first one that is present is used. */
const messageFields = ['message', 'error_description', 'detail', 'error', 'errors', 'reason', 'msg', 'title']

function jsonMessage(value: unknown, depth = 0): string | undefined {
  if (typeof value === 'string') return value
  if (typeof value !== 'object' || value === null || depth > 4) return undefined
  if (Array.isArray(value)) {
    const all = value.map(inner => jsonMessage(inner, depth + 1)).filter(message => message !== undefined)
    return all.length > 0 ? all.join('; ') : undefined
  }
  for (const field of messageFields) {
    const message = jsonMessage((value as Record<string, unknown>)[field], depth + 1)
    if (message !== undefined && message !== '') return message
  }
  return undefined
}
