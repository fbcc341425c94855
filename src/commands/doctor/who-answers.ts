// Determines what responds at the daemon's address: the daemon, another program, or nothing. No secret is sent for this.
import { request, type Dispatcher } from 'undici'
import { reasonOf } from '../../lib/fault.ts'
import { symptomOf } from '../../lib/wrong-service.ts'
import type { Config } from '../../daemon/configuration/options.ts'

type Answerer =
  | { readonly is: 'daemon'; readonly ready: boolean; readonly message: string }
  /** The program that responds is not the daemon. `what` describes its response, such as "200 with a web page". */
  | { readonly is: 'another'; readonly what: string }
  | { readonly is: 'nobody'; readonly reason: string }

/** The maximum number of bytes read from a response. It is more than the daemon ever sends here. */
const maxBytes = 16 * 1024

/** Requests `/readyz` below the base URL. `timeouts` are passed on to undici. */
export async function whoAnswers(
  base: string,
  timeouts: { readonly dispatcher: Dispatcher; readonly headersTimeout: number; readonly bodyTimeout: number },
): Promise<Answerer> {
  try {
    const { statusCode, headers, body } = await request(`${base}/readyz`, timeouts)
    const text = await beginningOf(body)
    const message = messageOf(text)
    const isOurs = message !== undefined && (statusCode === 200 || statusCode === 503)
    if (isOurs) return { is: 'daemon', ready: statusCode === 200, message }
    return { is: 'another', what: `${statusCode} with ${kindOf(text, headers['content-type'])}` }
  } catch (error) {
    const symptom = symptomOf(error)
    if (symptom === undefined) return { is: 'nobody', reason: reasonOf(error) }
    const isSilent = symptom.endsWith('does not answer')
    return { is: 'another', what: isSilent ? `${symptom} within ${timeouts.headersTimeout / 1000} s` : symptom }
  }
}

async function beginningOf(body: Dispatcher.ResponseData['body']): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of body as AsyncIterable<Buffer>) {
    chunks.push(chunk)
    bytes += chunk.length
    // Leaving the loop closes the connection, so that an endless body is not read.
    if (bytes > maxBytes) break
  }
  return Buffer.concat(chunks).toString('utf8')
}

/** Returns the message in the response; undefined if the response is not from the daemon, which sends a JSON object with nothing but a message. */
function messageOf(text: string): string | undefined {
  try {
    const json: unknown = JSON.parse(text)
    if (typeof json !== 'object' || json === null || !('message' in json)) return undefined
    return typeof json.message === 'string' && Object.keys(json).length === 1 ? json.message : undefined
  } catch {
    return undefined
  }
}

function kindOf(text: string, type: string | string[] | undefined): string {
  if (/^\s*</.test(text) || String(type).startsWith('text/html')) return 'a web page'
  if (text.trim() === '') return 'an empty body'
  return /^\s*[[{]/.test(text) ? 'JSON of another shape' : 'plain text'
}

/**
 * Returns the base URL at which a listener can be reached from this machine, without a trailing slash. For `0.0.0.0` and `[::]`, the host is the
 * loopback address.
 */
export function localAddress(
  { host, port }: Config['listen'],
  { scheme, basePath }: { readonly scheme: 'http' | 'https'; readonly basePath: string },
): string {
  const name = { '::': '[::1]', '0.0.0.0': '127.0.0.1' }[host] ?? host
  const authority = name.includes(':') && !name.startsWith('[') ? `[${name}]` : name
  return `${scheme}://${authority}:${port}${basePath}`.replace(/\/$/, '')
}
