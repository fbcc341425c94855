// Sends raw bytes to a port and reads the response bytes, for requests that no well-behaved HTTP client would send.
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

export interface RawConnection {
  readonly socket: Socket
  /** Returns all text that has arrived so far. */
  text(): string
  /** Resolves once the text received so far matches, or the connection has closed. */
  until(pattern: RegExp): Promise<string>
  /** Resolves with all received text once the other side has closed the connection. */
  closed(): Promise<string>
}

/** Opens a raw connection. `from`: the client's address as seen by the other side. */
export async function openRaw(port: number, host = '127.0.0.1', from?: string): Promise<RawConnection> {
  const socket = connect({ port, host, localAddress: from })
  await once(socket, 'connect')
  const chunks: Buffer[] = []
  let gone = false
  socket.on('data', (chunk: Buffer) => chunks.push(chunk))
  socket.on('error', () => undefined)
  socket.once('close', () => (gone = true))
  const text = (): string => Buffer.concat(chunks).toString()
  async function until(done: () => boolean): Promise<string> {
    while (!gone && !done()) {
      await new Promise<void>(resolve => {
        socket.once('data', go).once('close', go)
        function go(): void {
          socket.off('data', go).off('close', go)
          resolve()
        }
      })
    }
    return text()
  }
  return { socket, text, until: pattern => until(() => pattern.test(text())), closed: () => until(() => false) }
}

/** Sends a request as text and waits until the server closes the connection. */
export async function exchange(port: number, text: string): Promise<string> {
  const connection = await openRaw(port)
  connection.socket.write(text)
  return connection.closed()
}

/** Sends a JSON body of `length` bytes to /webhooks before reading any of the response, as simple clients do. Resolves with the response. */
export async function pour(port: number, length: number, headers: Readonly<Record<string, string>>): Promise<string> {
  const connection = await openRaw(port)
  const { socket } = connection
  socket.pause()
  const all = { host: 'localhost', 'content-type': 'application/json', 'content-length': length, ...headers }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`)
  const sent = new Promise<void>(resolve => {
    socket.once('close', resolve)
    socket.write(`POST /webhooks HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`)
    socket.write(Buffer.alloc(length, 0x20), () => resolve())
  })
  await sent
  socket.resume()
  const answer = await connection.until(/}$/)
  socket.destroy()
  return answer
}
