// Faults of the platform's API. Each is a reply that a test uses in place of the simulated API's own reply.
import { restRefusals, type RestReply } from '../../src/simulator/platform/rest-replies.ts'

const asJson = { 'content-type': 'application/json' }

/** Returns a normal response of the API. */
export function restJson(body: unknown, status = 200): RestReply {
  return { status, headers: asJson, body: JSON.stringify(body) }
}

export const restFaults = {
  ...restRefusals,
  tooMany: (retryAfterSeconds: number): RestReply => ({
    status: 429,
    headers: { 'content-type': 'text/plain', 'retry-after': String(retryAfterSeconds) },
    body: 'Retry later\n',
  }),
  missingRole: (): RestReply => ({ status: 403, headers: asJson, body: '{"message":"403 Forbidden"}' }),
  missingScope: (): RestReply => ({
    status: 403,
    headers: asJson,
    body: '{"error":"insufficient_scope","error_description":"The request requires higher privileges.","scope":"api read_api"}',
  }),
  broken: (): RestReply => ({
    status: 502,
    headers: { 'content-type': 'text/html' },
    body: '<html>Bad gateway</html>',
  }),
  loginPage: (): RestReply => ({
    status: 200,
    headers: { 'content-type': 'text/html' },
    body: '<!DOCTYPE html><title>Sign in</title>',
  }),
  truncated: (): RestReply => ({ status: 200, headers: asJson, body: '[{"id": 48' }),
} as const
