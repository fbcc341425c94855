// The address at which a configured listener is reached from this machine.
import type { Config } from '../daemon/configuration/options.ts'

/** Its base URL, without a slash at the end. For `0.0.0.0` and `[::]` that is the loopback address. */
export function localAddress(
  { host, port }: Config['listen'],
  { scheme, basePath }: { readonly scheme: 'http' | 'https'; readonly basePath: string },
): string {
  const name = { '::': '[::1]', '0.0.0.0': '127.0.0.1' }[host] ?? host
  const authority = name.includes(':') && !name.startsWith('[') ? `[${name}]` : name
  return `${scheme}://${authority}:${port}${basePath}`.replace(/\/$/, '')
}
