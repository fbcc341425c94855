// A stored message as people see it.
import { requestAsJson } from '../telemetry/encode.ts'
import { requestOf } from './messages.ts'
import { shownRequest, type ShownContent } from '../telemetry/shown-request.ts'
import type { Signal } from '../store/ports/runs.ts'

/** What it would send, as JSON; undefined if it is damaged. */
export function messageAsJson(signal: Signal, body: Uint8Array): string | undefined {
  return unlessDamaged(() => {
    const request = requestOf(body)
    return signal === 'notifications' ? JSON.stringify(parsed(request), null, 2) : requestAsJson(signal, request)
  })
}

/** The names and attributes of what it has; undefined if it is damaged. */
export function contentsOf(signal: Signal, body: Uint8Array): ShownContent[] | undefined {
  return unlessDamaged(() => {
    const request = requestOf(body)
    return signal === 'notifications'
      ? [{ name: 'Message', attributes: parsed(request) }]
      : shownRequest(signal, request)
  })
}

function parsed(request: Uint8Array): Record<string, unknown> {
  return JSON.parse(Buffer.from(request).toString()) as Record<string, unknown>
}

function unlessDamaged<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}
