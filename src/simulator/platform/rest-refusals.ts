// The simulated API's replies: JSON, and those without data: wrong token, not found, bad request, moved.

export interface RestReply {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body: string | Uint8Array
}

export function jsonReply(value: unknown, status = 200): RestReply {
  return { status, headers: { 'content-type': 'application/json' }, body: JSON.stringify(value) }
}

export const restRefusals = {
  wrongToken: (): RestReply => jsonReply({ message: '401 Unauthorized' }, 401),
  notFound: (what = 'Project'): RestReply => jsonReply({ message: `404 ${what} Not Found` }, 404),
  refused: (why: string): RestReply => jsonReply({ message: why }, 400),
  elsewhere: (location: string): RestReply => ({ status: 301, headers: { location }, body: '' }),
} as const
