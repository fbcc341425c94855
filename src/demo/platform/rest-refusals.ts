// The simulated API's answers without data: wrong token, not found, bad request, moved.

export interface RestReply {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body: string | Uint8Array
}

const asJson = { 'content-type': 'application/json' }

export const restRefusals = {
  wrongToken: (): RestReply => ({ status: 401, headers: asJson, body: '{"message":"401 Unauthorized"}' }),
  notFound: (what = 'Project'): RestReply => ({
    status: 404,
    headers: asJson,
    body: JSON.stringify({ message: `404 ${what} Not Found` }),
  }),
  refused: (why: string): RestReply => ({ status: 400, headers: asJson, body: JSON.stringify({ message: why }) }),
  elsewhere: (location: string): RestReply => ({ status: 301, headers: { location }, body: '' }),
} as const
