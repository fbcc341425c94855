// Checks of the destinations: sends an empty export of each signal, and says what the answer means: TLS, credentials, address.
import { gzipSync } from 'node:zlib'
import { broken, reportOf, type Finding, type Report } from './finding.ts'
import { createOtlpHttp } from '../../export/otlp-http.ts'
import { sentenceOf, verdictOf, type Verdict } from '../../export/verdict.ts'
import type { Destination, Endpoint } from '../../export/destination.ts'
import type { Signal } from '../../store/ports/runs.ts'

const report = reportOf('export')
/** An empty export in protobuf is no bytes at all (OTLP, "Binary Protobuf Encoding"). */
const empty = new Uint8Array(0)

export async function checkDestinations(destinations: readonly Destination[]): Promise<Finding[]> {
  const findings = await Promise.all(
    destinations.flatMap(destination =>
      Object.entries(destination.signals).map(async ([signal, endpoint]) =>
        checkSignal(destination, signal as Signal, endpoint),
      ),
    ),
  )
  if (findings.length > 0) return findings
  return [report('failure', 'No destination is configured: nothing is exported.', 'Set OTEL_EXPORTER_OTLP_ENDPOINT.')]
}

async function checkSignal({ name, bearer, proxy }: Destination, signal: Signal, endpoint: Endpoint): Promise<Finding> {
  const where = `"${name}" for ${signal} (${withoutQuery(endpoint.url)})`
  try {
    const http = createOtlpHttp(endpoint, proxy, 1)
    const token = bearer?.current()
    const body = endpoint.compression === 'gzip' ? gzipSync(empty) : empty
    try {
      const answer = await http.post(body, token, new AbortController().signal)
      return findingOf(verdictOf(answer, signal, Date.now()), where, report)
    } finally {
      await http.close()
    }
  } catch (error) {
    return broken(report, 'failure', error)
  }
}

function findingOf(verdict: Verdict, where: string, say: Report): Finding {
  switch (verdict.as) {
    case 'delivered':
      if (verdict.message === undefined) return say('fine', `${where} accepts exports.`)
      return say(
        'warning',
        `${where} accepts exports, with a message: ${verdict.message}.`,
        'Check that the endpoint is an OTLP/HTTP receiver.',
      )
    case 'unauthorized':
      return say(
        'failure',
        `${where} does not accept the credentials: ${sentenceOf(verdict)}.`,
        'Configure a valid token or header; the daemon re-reads a token file without a restart.',
      )
    case 'unacceptable':
      return say(
        'warning',
        `${where} rejects an empty export: ${sentenceOf(verdict)}.`,
        'If real exports fail too, check that the endpoint is an OTLP/HTTP receiver.',
      )
    case 'later':
      return later(verdict, where, say)
  }
}

function later(verdict: Extract<Verdict, { as: 'later' }>, where: string, say: Report): Finding {
  const said = sentenceOf(verdict)
  switch (verdict.kind) {
    case 'throttled':
      return say(
        'warning',
        `${where} is rate-limiting: ${said}.`,
        "The daemon retries automatically; if this persists, raise the backend's limit.",
      )
    case 'server':
      return say(
        'warning',
        `${where} answers with an error: ${said}.`,
        'The daemon retries automatically; if this persists, check the backend.',
      )
    case 'other':
      return say(
        'failure',
        `${where} is not an OTLP/HTTP receiver: ${said}.`,
        'Check the endpoint: a base URL without /v1/…, usually on port 4318.',
      )
    case 'unreachable':
      return say('failure', `${where} cannot be reached: ${said}.`, remedyOf(verdict.message))
  }
}

function remedyOf(message: string): string {
  if (/certificate|self.signed|SSL|TLS|CERT_|UNABLE_TO_/i.test(message)) {
    return 'Set OTEL_EXPORTER_OTLP_CERTIFICATE to the CA that signed its certificate, and check http versus https.'
  }
  if (/ENOTFOUND|EAI_AGAIN/.test(message))
    return 'Check the name in the endpoint, and that this machine can resolve it.'
  if (message.includes('ECONNREFUSED'))
    return 'Check host and port of the endpoint, and that the backend listens there.'
  return 'Check the endpoint, the firewall and the proxies between here and there.'
}

/** The query is not shown: some backends take a key as a parameter. */
function withoutQuery(address: string): string {
  const { origin, pathname } = new URL(address)
  return origin + pathname
}
