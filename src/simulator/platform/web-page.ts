// The web pages of the simulated platform: links from Pipespan's pages end here. They say what they stand for, and need no login.
import type { PlatformState } from './state.ts'

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

/** The page at a path outside the API, such as `/acme/shop/-/pipelines/1`. */
export function webPage(path: string, { pipelines }: PlatformState): RestReply {
  const id = Number(/\/-\/pipelines\/(\d+)$/.exec(path)?.[1])
  const found = pipelines.get(id)
  const lines =
    found === undefined
      ? ['On a real platform this link opens what it names.']
      : [
          `${found.plan.name ?? 'Pipeline'} #${found.id} of ${found.project.path}: ${found.status}.`,
          `${found.ref}: ${found.commitMessage.split('\n', 1)[0] ?? ''}`,
          ...found.jobs.map(({ plan, status }) => `${plan.stage} · ${plan.name}: ${status}`),
        ]
  const body = lines.map(line => `<p>${escaped(line)}</p>`).join('')
  return {
    status: 200,
    headers: { 'content-type': 'text/html; charset=utf-8', 'content-security-policy': "default-src 'none'" },
    body: `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Simulated platform</title><h1>Simulated platform</h1><p><code>${escaped(path)}</code></p>${body}</html>`,
  }
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, one => `&#${one.charCodeAt(0)};`)
}
