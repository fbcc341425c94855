// What is no HTTP, or comes too slowly: answered on the bare socket, since there is no request to answer. And what Node would answer
// by itself, before anybody is asked.
import type { RequestListener, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** Node's `clientError`: the parser gave up, or a time-out passed. Answers if the sender can still make sense of it, and closes. */
export function answerMalformed(error: Error & { code?: string }, socket: Socket): void {
  // Bytes already sent may be half an answer: a second one behind it would be read as part of the first.
  if (error.code === 'ECONNRESET' || !socket.writable || socket.bytesWritten > 0) {
    socket.destroy()
    return
  }
  const [status, message] = answerTo(error.code)
  const body = JSON.stringify({ message })
  socket.end(
    `HTTP/1.1 ${status}\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: ${body.length}\r\n` +
      `Connection: close\r\n\r\n${body}`,
    () => socket.destroy(),
  )
}

/** Every request of HTTP/1.1 names a host (RFC 9112, section 3.2). */
export function withHost(handler: RequestListener): RequestListener {
  return (request, response) => {
    const isNamed = request.headers.host !== undefined || request.httpVersion !== '1.1'
    if (isNamed) handler(request, response)
    else refuse(response, 400, 'The request has no Host header.')
  }
}

/** Whoever expects anything but `100-continue` (RFC 9110, section 10.1.1). */
export const answerExpectation: RequestListener = (_request, response) => {
  refuse(response, 417, 'The Expect header is not supported.')
}

function refuse(response: ServerResponse, status: number, message: string): void {
  const body = JSON.stringify({ message })
  const type = 'application/json; charset=utf-8'
  response.writeHead(status, { connection: 'close', 'content-type': type, 'content-length': body.length }).end(body)
}

function answerTo(code: string | undefined): readonly [string, string] {
  switch (code) {
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return ['408 Request Timeout', 'The request timed out.']
    case 'HPE_HEADER_OVERFLOW':
      return ['431 Request Header Fields Too Large', 'The headers are too large.']
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return ['413 Content Too Large', 'The body is too large.']
    default:
      return ['400 Bad Request', 'The request is malformed.']
  }
}
