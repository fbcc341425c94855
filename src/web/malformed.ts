// Answers requests that no route sees: invalid or too slow ones, on the bare socket; and those that Node would answer by itself, which
// would bypass our limits.
import type { RequestListener, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** For Node's `clientError`: invalid HTTP, or a timeout. Answers if the sender can still understand it, and closes. */
export function answerMalformed(error: Error & { code?: string }, socket: Socket): void {
  // If bytes were sent, they may be half an answer, and another would be read as part of it.
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

/** HTTP/1.1 requires a Host header (RFC 9112, section 3.2). */
export function withHost(handler: RequestListener): RequestListener {
  return (request, response) => {
    const isNamed = request.headers.host !== undefined || request.httpVersion !== '1.1'
    if (isNamed) handler(request, response)
    else refuse(response, 400, 'The request has no Host header.')
  }
}

/** For any expectation but `100-continue` (RFC 9110, section 10.1.1). */
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
