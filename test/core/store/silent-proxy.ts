// A network between a client and its server that can fall silent: connections stay open and new ones are accepted, but no data is transmitted
// anymore, in one direction or in both. When the network is back, it may have dropped old connections without notice, as a firewall does.
import { createServer, connect, type AddressInfo, type Server, type Socket } from 'node:net'

export type Direction = 'to the server' | 'to the client'

interface Pair {
  readonly client: Socket
  readonly upstream: Socket
  /**
   * True for a connection, opened before or during the silence, that the network has dropped without notice. Its end is not signalled, and it never
   * transmits data again.
   */
  forgotten: boolean
}

export class SilentProxy {
  readonly #server: Server
  readonly #pairs = new Set<Pair>()
  #silent: ReadonlySet<Direction> = new Set()

  private constructor(server: Server) {
    this.#server = server
  }

  /** Starts a proxy in front of the server at this URL. */
  static async before(url: string): Promise<SilentProxy> {
    const { hostname, port } = new URL(url)
    const server = createServer({ allowHalfOpen: true })
    const proxy = new SilentProxy(server)
    server.on('connection', client => proxy.#join(client, connect({ host: hostname, port: Number(port) })))
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    return proxy
  }

  /** Returns the URL with the proxy's port in place of the server's. */
  through(url: string): string {
    const way = new URL(url)
    way.port = String((this.#server.address() as AddressInfo).port)
    return way.href
  }

  silence(...directions: readonly Direction[]): void {
    this.#silent = new Set(directions)
    for (const pair of this.#pairs) this.#hold(pair)
  }

  /** If `forgetting` is true, connections from before the silence stay open and silent. Otherwise, the data that was held back is transmitted. */
  resume({ forgetting }: { forgetting: boolean }): void {
    this.#silent = new Set()
    for (const pair of this.#pairs) {
      if (forgetting) pair.forgotten = true
      else this.#hold(pair)
    }
  }

  async close(): Promise<void> {
    for (const { client, upstream } of this.#pairs) {
      client.destroy()
      upstream.destroy()
    }
    await new Promise(resolve => this.#server.close(resolve))
  }

  #join(client: Socket, upstream: Socket): void {
    const pair: Pair = { client, upstream, forgotten: false }
    this.#pairs.add(pair)
    const forward = (from: Socket, to: Socket): void => {
      from.on('data', bytes => to.write(bytes))
      from.on('error', () => undefined)
      from.on('end', () => to.end())
      from.on('close', () => {
        // A silent network does not even transmit the closing of a connection.
        if (this.#silent.size > 0 || pair.forgotten) return
        to.destroy()
        this.#pairs.delete(pair)
      })
    }
    forward(client, upstream)
    forward(upstream, client)
    this.#hold(pair)
  }

  #hold({ client, upstream }: Pair): void {
    const set = (socket: Socket, direction: Direction): void => {
      if (this.#silent.has(direction)) socket.pause()
      else socket.resume()
    }
    set(client, 'to the server')
    set(upstream, 'to the client')
  }
}
