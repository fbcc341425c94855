// A notification receiver. It stores every message that it accepts, and rejects messages on demand.
import { createServer, type IncomingHttpHeaders } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'

export interface ReceivedMessage {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: Record<string, unknown>
}

export class MessageReceiver {
  /** The messages to which the receiver responded with a 2xx status. */
  readonly accepted: ReceivedMessage[] = []
  /** The number of messages to which the receiver responded with a status other than 2xx. */
  refused = 0
  /** The HTTP status of all responses from now on. */
  status = 200
  #url = ''
  readonly #server = createServer((request, response) => {
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => parts.push(part))
    request.on('end', () => {
      const { url: path = '', headers } = request
      if (request.method === 'HEAD') {
        response.writeHead(405).end()
        return
      }
      const body = JSON.parse(Buffer.concat(parts).toString()) as Record<string, unknown>
      if (this.status === 200) this.accepted.push({ path, headers, body })
      else this.refused += 1
      response.writeHead(this.status, { 'content-type': 'text/plain' }).end(this.status === 200 ? 'ok' : 'no')
    })
  })

  static async start(): Promise<MessageReceiver> {
    const receiver = new MessageReceiver()
    receiver.#server.listen(0, '127.0.0.1')
    await once(receiver.#server, 'listening')
    receiver.#url = `http://127.0.0.1:${(receiver.#server.address() as AddressInfo).port}`
    return receiver
  }

  get url(): string {
    return this.#url
  }

  /** Closes the receiver. It may be called more than once. */
  async close(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise(resolve => this.#server.close(resolve))
  }
}
