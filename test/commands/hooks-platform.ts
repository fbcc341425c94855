// A simulated platform with webhooks for tests: an HTTP server that creates, edits and lists hooks as the REST API does.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface KeptHook {
  id: number
  url: string
  pipeline_events: boolean
  job_events: boolean
  push_events: boolean
  /** The hook's secret token. No response contains it. */
  token?: string
  signing_token?: string
  alert_status: string
  url_variables?: readonly { readonly key: string }[]
  /** The hook's flags for all other kinds of events. */
  [flag: `${string}_events`]: boolean
}

export interface HooksPlatform extends AsyncDisposable {
  readonly url: string
  /** The hooks by owner, such as `projects/team%2Fshop` or `groups/7`. */
  readonly hooks: Record<string, KeptHook[]>
  readonly changes: string[]
  /** The owners whose hooks the token may not read. */
  readonly forbidden: Set<string>
  isAdministrator: boolean
  /** Called for each request before the platform responds. If it returns true, it has responded in the platform's place. */
  interrupt?: ((request: IncomingMessage, response: ServerResponse) => boolean) | undefined
}

export const platformToken = 'pat-of-a-maintainer'

export async function startHooksPlatform(owners: Record<string, Partial<KeptHook>[]>): Promise<HooksPlatform> {
  let nextId = 100
  const hooks: Record<string, KeptHook[]> = {}
  for (const [owner, given] of Object.entries(owners)) hooks[owner] = given.map(complete)
  function complete(hook: Partial<KeptHook>): KeptHook {
    const plain = { url: '', pipeline_events: false, job_events: false, push_events: true, alert_status: 'executable' }
    return { ...plain, id: nextId++, ...hook }
  }
  const server = createServer((request, response) => {
    void answer(request, response)
  })
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk)
    if (platform.interrupt?.(request, response) === true) return
    const send = (status: number, value: unknown) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))
    if (request.headers['private-token'] !== platformToken) return void send(401, { message: '401 Unauthorized' })
    const [path = '', query = ''] = (request.url ?? '').replace('/api/v4/', '').split('?')
    if (path === 'user') return void send(200, platform.isAdministrator ? { id: 1, is_admin: true } : { id: 1 })
    if (path === 'projects') return void send(200, projectList(new URLSearchParams(query)))
    const [, owner = '', id] = /^((?:projects|groups)\/[^/]+)\/hooks(?:\/(\d+))?$/.exec(path) ?? []
    const kept = hooks[owner]
    if (kept === undefined) return void send(404, { message: '404 Not Found' })
    if (platform.forbidden.has(owner)) return void send(403, { message: '403 Forbidden' })
    const body = chunks.length === 0 ? {} : (JSON.parse(Buffer.concat(chunks).toString()) as Partial<KeptHook>)
    if (request.method === 'GET') return void send(200, kept.map(shown))
    platform.changes.push(`${request.method} ${path}`)
    if (request.method === 'POST') {
      const hook = complete(body)
      kept.push(hook)
      return void send(201, shown(hook))
    }
    const hook = kept.find(one => String(one.id) === id)
    if (hook === undefined) return void send(404, { message: '404 Not Found' })
    // When a hook's URL changes, the platform deletes its secrets.
    if (body.url !== undefined && body.url !== hook.url) {
      delete hook.token
      delete hook.signing_token
    }
    send(200, shown(Object.assign(hook, body)))
  }
  /** The response to `GET /projects`: only projects whose key is a number and, if an access level is requested, only those with an even number. */
  function projectList(query: URLSearchParams): unknown[] {
    const ids = Object.keys(hooks).flatMap(owner => /^projects\/(\d+)$/.exec(owner)?.[1] ?? [])
    const visible = query.has('min_access_level') ? ids.filter(id => Number(id) % 2 === 0) : ids
    return visible.map(id => ({ id: Number(id), path_with_namespace: `team/p${id}` }))
  }
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const platform: HooksPlatform = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    hooks,
    changes: [],
    forbidden: new Set(),
    isAdministrator: false,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
    },
  }
  return platform
}

function shown({ token, signing_token: signing, ...hook }: KeptHook): unknown {
  return { ...hook, token_present: token !== undefined, signing_token_present: signing !== undefined }
}
