// What the simulated API does wrong on demand: each a reply that a test or the demo puts in place of the real one.

export interface RestReply {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body: string
}

const asJson = { 'content-type': 'application/json' }

export const restFaults = {
  tooMany: (retryAfterSeconds: number): RestReply => ({
    status: 429,
    headers: { 'content-type': 'text/plain', 'retry-after': String(retryAfterSeconds) },
    body: 'Retry later\n',
  }),
  wrongToken: (): RestReply => ({ status: 401, headers: asJson, body: '{"message":"401 Unauthorized"}' }),
  missingScope: (): RestReply => ({
    status: 403,
    headers: asJson,
    body: '{"error":"insufficient_scope","error_description":"The request requires higher privileges.","scope":"api read_api"}',
  }),
  notFound: (what = 'Project'): RestReply => ({
    status: 404,
    headers: asJson,
    body: JSON.stringify({ message: `404 ${what} Not Found` }),
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
  elsewhere: (location: string): RestReply => ({ status: 301, headers: { location }, body: '' }),
} as const
