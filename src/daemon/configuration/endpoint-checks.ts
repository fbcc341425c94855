// Warnings about OTLP endpoints that can be used and are probably not what was meant: the path of a signal in a base URL, no path or another one in
// the URL of a signal, the port of gRPC.
import { describeSource, type Source } from './config-fault.ts'
import { isGrpcPort, isOtlpGrpc } from '../../lib/wrong-service.ts'
import { signals, type Signal } from './otlp-options.ts'
import { withPath } from './destinations.ts'
import type { Config } from './options.ts'

interface Endpoint {
  /** The path of its setting. */
  readonly setting: string
  readonly url: string
  /** The only signal that is sent there, to the URL as it is; undefined: a base URL. */
  readonly signal?: Signal
}

/** What a base URL should not end with. */
const ofSignal = new RegExp(`(?:/+v1(?:/+(?:${signals.join('|')}))?)+/*$`, 'i')

/** Without queries, in which some backends take a key. */
export function doubtfulEndpoints(config: Config, sourceOf: (setting: string) => Source): string[] {
  return endpointsOf(config).flatMap(({ setting, url, signal }) => {
    const why = [signal === undefined ? whyDoubled(url) : whyNoPath(url, signal), whyGrpc(url)]
    const source = sourceOf(setting)
    const place = [describeSource(source), ...(source.from === 'file' ? [setting] : [])].join(': ')
    return why.flatMap(one => (one === undefined ? [] : [`${place}: ${one}`]))
  })
}

function endpointsOf({ otlp, destinations, self }: Config): Endpoint[] {
  // Despite their types, endpoints that could not be read are undefined here. They have their own faults.
  const found: readonly (Omit<Endpoint, 'url'> & { readonly url: string | undefined })[] = [
    { setting: 'otlp.endpoint', url: otlp.endpoint },
    ...signals.map(signal => ({ setting: `otlp.${signal}.endpoint`, url: otlp[signal].endpoint, signal })),
    ...destinations.map(({ endpoint }, index) => ({ setting: `destinations[${index}].endpoint`, url: endpoint })),
    { setting: 'self.otlp_endpoint', url: self.otlpEndpoint },
  ]
  return found.flatMap(({ url, ...one }) => (url === undefined ? [] : [{ ...one, url }]))
}

function whyDoubled(url: string): string | undefined {
  const { origin, pathname } = new URL(url)
  const [end] = ofSignal.exec(pathname) ?? []
  if (end === undefined) return undefined
  const meant = origin + pathname.slice(0, -end.length)
  return `The paths of the signals are appended to it: traces go to ${withoutQuery(withPath(url, 'traces'))}. Write ${meant}.`
}

function whyNoPath(url: string, signal: Signal): string | undefined {
  const { origin, pathname } = new URL(url)
  const [end] = ofSignal.exec(pathname) ?? []
  const own = `/v1/${signal}`
  // Any other path may be the backend's own.
  if (end === own || (end === undefined && /[^/]/.test(pathname))) return undefined
  const meant = origin + pathname.slice(0, pathname.length - (end ?? pathname).length) + own
  return `It is used unchanged: nothing is appended, and ${signal} usually go to ${own}. Write ${meant}.`
}

function whyGrpc(url: string): string | undefined {
  const { port } = new URL(url)
  return isGrpcPort(url) ? `By its port ${port}, ${isOtlpGrpc}. Use the port of OTLP/HTTP.` : undefined
}

function withoutQuery(url: string): string {
  const { origin, pathname } = new URL(url)
  return origin + pathname
}
