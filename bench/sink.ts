// An OTLP backend that only counts requests, pipelines (ResourceSpans) and bytes. Prints its port; GET /counts returns the counts.
import { gunzipSync } from 'node:zlib'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

const counts = { requests: 0, pipelines: 0, bytes: 0, unpacked: 0 }
const server = createServer((request, response) => {
  if (request.method === 'GET') {
    response.end(JSON.stringify(counts))
    return
  }
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => {
    const body = Buffer.concat(chunks)
    const plain = request.headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body
    counts.requests += 1
    counts.bytes += body.length
    counts.unpacked += plain.length
    if (request.url === '/v1/traces') counts.pipelines += topLevelFields(plain)
    response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end()
  })
})
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`${(server.address() as AddressInfo).port}\n`)
})

/** The number of length-delimited fields in the outermost message, which is the number of ResourceSpans. */
function topLevelFields(message: Buffer): number {
  let count = 0
  for (let at = 0; at < message.length; count += 1) {
    at += 1
    let length = 0
    for (let shift = 0; ; shift += 7) {
      const byte = message[at] ?? 0
      at += 1
      length += (byte & 0x7f) * 2 ** shift
      if (byte < 0x80) break
    }
    at += length
  }
  return count
}
