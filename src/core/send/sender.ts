// Sends one request to one endpoint: compresses its body, sends it with the current token, and measures how long that takes.
import { promisify } from 'node:util'
import { constants, gzip, gzipSync } from 'node:zlib'
import { createOtlpHttp } from './otlp-http.ts'
import { verdictOf, type Verdict } from './verdict.ts'
import { elapsed, type Clock } from '../../lib/clock.ts'
import type { Destination, Endpoint, HeaderValues, Bearer } from './destination.ts'
import type { Signal } from '../store/ports/outbox.ts'
import type { Secret } from '../../lib/secret.ts'

export interface Sent extends Answered {
  /** The time from the start of the first request to the verdict, ms. */
  readonly tookMs: number
}

export interface Sender {
  /**
   * Sends a body. It takes at most twice the endpoint's timeout, because a changed token is tried at once. Never rejects. The sender owns the body
   * after this call, and releases its memory as soon as it is compressed. `values` are the values for the header templates.
   */
  send(body: Uint8Array, values?: HeaderValues): Promise<Sent>
  /** Aborts the requests in flight. Their outcome is unknown. */
  abort(): void
  close(): Promise<void>
}

export interface SenderOptions extends Pick<Destination, 'bearer' | 'proxy'> {
  readonly signal: Signal
  readonly endpoint: Endpoint
  readonly connections: number
  readonly clock: Clock
}

/**
 * Compression level 1 takes half the time of the default level, and its output is a few percent larger. With larger output chunks, a body of 640 KB
 * wakes the main thread once or twice instead of four times, which halves the cost on that thread.
 */
const fast = { level: constants.Z_BEST_SPEED, chunkSize: 64 * 1024, memLevel: constants.Z_MAX_MEMLEVEL }
const inThePool = promisify(gzip)
/**
 * The size in bytes below which bodies are compressed on the main thread. A body of 40 KB (one pipeline) takes 0.3 ms there, but 0.5 ms on a pool
 * thread. A body of 640 KB takes 1.5 ms on the main thread; if a pool thread compresses it, the main thread spends only 0.17 ms.
 */
const atOnce = 64 * 1024

/** Creates the sender for an endpoint. Throws ConfigError if a TLS file cannot be read. */
export function createSender({ signal, endpoint, bearer, proxy, connections, clock }: SenderOptions): Sender {
  const http = createOtlpHttp(endpoint, proxy, connections)
  const stop = new AbortController()
  const post = withFreshToken(
    async (body, token, values) => verdictOf(await http.post(body, token, stop.signal, values), signal, clock.now()),
    bearer,
  )
  return {
    send: async (plain, values) => {
      const since = elapsed(clock)
      const body = endpoint.compression === 'gzip' ? await compressed(plain) : plain
      return { ...(await post(body, values)), tookMs: elapsed(clock) - since }
    },
    abort: () => stop.abort(),
    close: () => http.close(),
  }
}

async function compressed(plain: Uint8Array): Promise<Uint8Array> {
  const packed = plain.length <= atOnce ? gzipSync(plain, fast) : await inThePool(plain, fast)
  giveBack(plain)
  return packed
}

// Releases the memory of buffers that are no longer needed. The garbage collector counts them separately from its own heap, and lets about 64 MiB of
// garbage accumulate on each thread before it runs. In a daemon that handles several MiB of bodies per second, that memory would be wasted.

/**
 * Releases the memory of a buffer at once, so that the next buffer can use it. The caller must be its last user: no other code may still be using the
 * bytes, above all no socket that is still sending them. Slices of a larger buffer are left to the garbage collector.
 */
export function giveBack(bytes: Uint8Array): void {
  const { buffer, byteLength } = bytes
  // A buffer whose memory was already released has a length of 0.
  if (byteLength > 0 && buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0)
}

// Sends a request with the current token. If the token is rejected, it is read again, and a changed token is tried at once.

/** Sends one request and judges its response. Never rejects. `values` are the values for the header templates. */
type Transport = (body: Uint8Array, token: Secret | undefined, values: HeaderValues | undefined) => Promise<Verdict>

interface Answered {
  readonly verdict: Verdict
  /** The token of the request whose response determined the verdict. */
  readonly token: Secret | undefined
}

/** Wraps a transport so that it tries a changed token. A send then takes at most twice the endpoint's timeout. */
function withFreshToken(transport: Transport, bearer: Bearer | undefined) {
  return async (body: Uint8Array, values: HeaderValues | undefined): Promise<Answered> => {
    const token = bearer?.current()
    const verdict = await transport(body, token, values)
    if (verdict.as !== 'unauthorized' || bearer === undefined) return { verdict, token }
    await bearer.reload()
    const fresh = bearer.current()
    return sameSecret(fresh, token)
      ? { verdict, token }
      : { verdict: await transport(body, fresh, values), token: fresh }
  }
}

export function sameSecret(a: Secret | undefined, b: Secret | undefined): boolean {
  return a === undefined || b === undefined ? a === b : a.equals(b.reveal())
}
