// A load of POSTs over keep-alive sockets, one request at a time on each: cheap enough that the server is what is measured.
import { connect, type Socket } from 'node:net'

export interface LoadOptions {
  readonly port: number
  readonly path: string
  readonly connections: number
  /** The body of request `n`; undefined: pause for a moment (the load is throttled). */
  readonly body: (n: number) => Buffer | undefined
  /** Headers of request `n`, one a line. */
  readonly headers: (n: number) => readonly string[]
  readonly forMs: number
}

export interface LoadResult {
  readonly requests: number
  readonly seconds: number
  readonly perSecond: number
  /** Answers by status. */
  readonly statuses: Readonly<Record<string, number>>
}

/** Sends until the time is over, then waits for what is in flight. */
export async function load(options: LoadOptions): Promise<LoadResult> {
  const statuses: Record<string, number> = {}
  let sent = 0
  const began = performance.now()
  const end = began + options.forMs
  await Promise.all(
    Array.from({ length: options.connections }, async () => {
      const socket = connect({ port: options.port, host: '127.0.0.1', noDelay: true })
      await new Promise<void>((resolve, reject) => {
        socket.once('error', reject)
        let answer = ''
        const next = (): void => {
          if (performance.now() >= end) {
            socket.end()
            resolve()
            return
          }
          const body = options.body(sent)
          if (body === undefined) {
            setTimeout(next, 2)
            return
          }
          send(socket, options, sent, body)
          sent += 1
        }
        socket.on('data', (chunk: Buffer) => {
          answer += chunk.toString('latin1')
          const head = answer.indexOf('\r\n\r\n')
          if (head === -1) return
          const length = Number(/content-length: (\d+)/i.exec(answer)?.[1] ?? 0)
          if (answer.length < head + 4 + length) return
          const status = answer.slice(9, 12)
          statuses[status] = (statuses[status] ?? 0) + 1
          answer = ''
          next()
        })
        socket.once('connect', next)
      })
    }),
  )
  const seconds = (performance.now() - began) / 1000
  const requests = Object.values(statuses).reduce((sum, count) => sum + count, 0)
  return { requests, seconds, perSecond: requests / seconds, statuses }
}

function send(socket: Socket, options: LoadOptions, n: number, body: Buffer): void {
  const head = [
    `POST ${options.path} HTTP/1.1`,
    'host: 127.0.0.1',
    'content-type: application/json',
    `content-length: ${body.length}`,
    ...options.headers(n),
    '',
    '',
  ].join('\r\n')
  socket.cork()
  socket.write(head, 'latin1')
  socket.write(body)
  socket.uncork()
}
